import LatchkeyGettext

extension Answers {
  /// The answers of the device key service and the TPM.
  static let device: [Template] = [
    Template("the TPM cannot be used"),
    Template("there is no usable TPM"),
    Template("the device secret cannot be kept there"),
    Template("the service's state"),
    Template("the file device of the service's state is missing, although keys of users depend on it"),
    Template("there is no place for the device secret"),
    Template("the device secret was read back as another one"),
    Template("the device secret was moved, but its former copy cannot be erased"),
    Template("looking up user \(.value) takes long; try again in a moment"),
    Template("user \(.value) has no account on this machine"),
    Template("the file \(.value) of the service's state cannot be erased"),
    Template("the file \(.value) of the service's state is damaged; it was left as it is"),
    Template("the file \(.value) of the service's state"),
    Template("the file \(.value) of the service's state has format \(.value), a newer one"),
    Template("the file \(.value) of the service's state cannot be written"),
    Template("it ended the connection"),
    Template("it does not answer"),
    Template("latchkeyd had other work first, and asks again in a moment"),
    Template("it returned an invalid reply"),
    Template("for an unknown reason"),
    Template("loading what is sealed"),
    Template("the library tpm2-tss is not installed"),
    Template("it was cleared, or it is another one"),
    Template("what is sealed to it is damaged"),
    Template("deriving its storage key"),
    Template("beginning a session"),
    Template("writing down what is sealed"),
    Template("\(.text) failed (0x\(.value))"),
  ]
}
