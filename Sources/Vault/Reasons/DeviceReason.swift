import LatchkeyText

/// Why the device key cannot be used.
public enum DeviceReason: String, ReasonGroup {
  case otherDevice, brokenOff, fileDamaged, fileNewer, noMachineIdentity, noMemory, fileTruncated, fileMissing
  case serviceKeepsLogins, withService, otherSecret, unknownKind, markDamaged, markTruncated, generationUnknown
  case unknownKey, noKey, silent, invalidReply, ended, unexplained, noTPM, cannotKeep, stateMissing, noPlace
  case readBackOther, formerCopyStays, tpmUnusable, tpmLibrary, tpmOther, tpmDamaged, tpmSealing, tpmLoading
  case tpmUnsealing, tpmWriting, tpmConnecting, tpmDeriving, tpmSession, tpmEncrypting, onlyAtLogin
  case onlyRootErases, onlyRootMoves, onlyRootForgets, onlyRootLogin, manyLogins, noService, notAdmitted
  case loginConnection
  case fingerForbidden, noPrints, onlyRootVerifies, onlyOwnHold, onlyHolder, isVerifying, holdExpired, holdTouches
  case holdPrints, holdLost, holdSlept, holdReplaced, holdDropped, holdChanged, manyHolds
  case otherFinger, noTouch, readerBusy, awayFromSeat

  package static let name = "device"

  package var phrase: Phrase {
    switch self {
    case .otherDevice: Phrase("it belongs to another device")
    case .brokenOff: Phrase("latchkeyd had other work first, and asks again in a moment")
    case .fileDamaged: Phrase("the file is damaged")
    case .fileNewer: Phrase("the file has a newer format")
    case .noMachineIdentity: Phrase("the machine has no /etc/machine-id")
    case .noMemory: Phrase("not enough memory")
    case .fileTruncated: Phrase("the file is truncated")
    case .fileMissing: Phrase("the file is missing")
    case .serviceKeepsLogins: Phrase("only the device key service can keep a secret for logins")
    case .withService: Phrase("it is missing, although it keeps this vault's device key on this machine")
    case .otherSecret: Phrase("it returned another secret than it was given")
    case .unknownKind: Phrase("it returned an unknown kind of wrapped key")
    case .markDamaged: Phrase("device.service is damaged or of a newer format")
    case .markTruncated: Phrase("device.service is truncated")
    case .generationUnknown: Phrase("so it is not known whether an older copy of the vault was put back")
    case .unknownKey: Phrase("the vault does not know this machine's key")
    case .noKey: Phrase("there is no device key")
    case .silent: Phrase("it does not answer")
    case .invalidReply: Phrase("it returned an invalid reply")
    case .ended: Phrase("it ended the connection")
    case .unexplained: Phrase("for an unknown reason")
    case .noTPM: Phrase("there is no usable TPM")
    case .cannotKeep: Phrase("the device secret cannot be kept there")
    case .stateMissing:
      Phrase("the file device of the service's state is missing, although keys of users depend on it")
    case .noPlace: Phrase("there is no place for the device secret")
    case .readBackOther: Phrase("the device secret differed when it was read back")
    case .formerCopyStays: Phrase("the device secret was moved, but its former copy cannot be erased")
    case .tpmUnusable: Phrase("the TPM cannot be used")
    case .tpmLibrary: Phrase("the library tpm2-tss is not installed")
    case .tpmOther: Phrase("it was cleared, or it is another one")
    case .tpmDamaged: Phrase("the data sealed to it is damaged")
    case .tpmSealing: Phrase(verbatim: "sealing")
    case .tpmLoading: Phrase("loading the sealed data")
    case .tpmUnsealing: Phrase(verbatim: "unsealing")
    case .tpmWriting: Phrase("writing the sealed data")
    case .tpmConnecting: Phrase(verbatim: "connecting")
    case .tpmDeriving: Phrase("deriving its storage key")
    case .tpmSession: Phrase("beginning a session")
    case .tpmEncrypting: Phrase(verbatim: "encrypting")
    case .onlyAtLogin: Phrase(verbatim: "that is given out at a login only")
    case .onlyRootErases: Phrase(verbatim: "only root erases what is another user's")
    case .onlyRootMoves: Phrase(verbatim: "only root moves the device secret")
    case .onlyRootForgets: Phrase(verbatim: "only root has a user forgotten")
    case .onlyRootLogin: Phrase(verbatim: "only root says whose login it is")
    case .manyLogins: Phrase(verbatim: "there are too many logins of that user")
    case .noService: Phrase(verbatim: "there is no such service")
    case .notAdmitted: Phrase(verbatim: "it did not let the login in")
    case .loginConnection: Phrase(verbatim: "this connection is a login's, and for nothing else")
    case .fingerForbidden: Phrase("the administrator allows no unlock by finger (/etc/latchkey/finger)")
    case .noPrints: Phrase("no finger is enrolled: run 'fprintd-enroll' first")
    case .onlyRootVerifies: Phrase(verbatim: "only root has a finger verified")
    case .onlyOwnHold: Phrase(verbatim: "only root asks about another user")
    case .onlyHolder: Phrase(verbatim: "this connection holds no key")
    case .isVerifying: Phrase(verbatim: "a finger of that user is awaited already")
    case .holdExpired: Phrase("48 hours have passed since the password")
    case .holdTouches: Phrase("too many fingers did not match")
    case .holdPrints: Phrase("the enrolled fingers have changed")
    case .holdLost: Phrase("the TPM has forgotten the key, because the machine was started or hibernated")
    case .holdSlept: Phrase("the machine slept, and no TPM keeps the key")
    case .holdReplaced: Phrase("another process handed a newer key over")
    case .holdChanged: Phrase("the vault's passwords or keys have changed since the last password")
    case .manyHolds: Phrase("the device key service was given too many keys of yours in a short time")
    case .otherFinger: Phrase("that finger does not match")
    case .noTouch: Phrase("nobody touched the fingerprint reader in time")
    case .readerBusy: Phrase("the fingerprint reader is missing, or another program uses it")
    case .awayFromSeat: Phrase("you are not in front of the machine that has the fingerprint reader")
    case .holdDropped: Phrase("the device key service has ended, or latchkeyd has")
    }
  }
}
