import Glibc
import LatchkeyDeviceService
import LatchkeyDeviceStore
import LatchkeySystemd

/// The arguments of latchkey-deviced.
struct Options {
  /// The folder of the service's state.
  var state = "/var/lib/latchkey"
  /// The path where the program listens without a service manager.
  var socket = ServiceDeviceKey.path
  /// The name by which the program reaches the TPM; nil without a TPM.
  var tcti: String? = access("/dev/tpmrm0", F_OK) == 0 ? "device:/dev/tpmrm0" : nil
  /// The program gives up on a TPM that is silent for so many seconds.
  var timeout: UInt32 = 30
  /// The program ends after so many seconds without a peer; 0 for never.
  var idle = 60
  /// The folder of fprintd's prints.
  var prints = EnrolledPrints.folder
  /// The administrator's file that forbids the unlock by finger.
  var fingers = FingerPolicy.path

  static let usage = """
    usage: latchkey-deviced [--state DIR] [--socket PATH] [--tcti NAME] [--tpm-timeout SECONDS] [--idle SECONDS]
                            [--prints DIR] [--finger-policy FILE]

    The device key service of Latchkey: wraps and unwraps keys for the vaults of this machine's users.
      --state DIR    where its secret is (default: /var/lib/latchkey)
      --socket PATH  where it listens, unless the service manager passed a socket (default: /run/latchkey/device.sock)
      --tcti NAME    how tpm2-tss reaches the TPM, or 'none' (default: device:/dev/tpmrm0, where that is there)
      --tpm-timeout SECONDS
                     ends when the TPM does not answer for so long (default: 30)
      --idle SECONDS ends when nobody was connected for so long; 0 for never (default: 60)
      --prints DIR   where fprintd keeps prints (default: /var/lib/fprint)
      --finger-policy FILE
                     forbids the unlock by finger with the line 'off' (default: /etc/latchkey/finger)
    """

  /// Reads the arguments.
  init(_ arguments: [String]) throws(ProgramArguments.Failure) {
    var rest = ProgramArguments(arguments)
    while let argument = try rest.next() {
      let value = try rest.value()
      switch argument {
      case "--state" where value.hasPrefix("/"): state = value
      case "--socket" where value.hasPrefix("/"): socket = value
      case "--prints" where value.hasPrefix("/"): prints = value
      case "--finger-policy" where value.hasPrefix("/"): fingers = value
      case "--tcti" where !value.isEmpty: tcti = value == "none" ? nil : value
      case "--tpm-timeout":
        guard let seconds = UInt32(value), (1...600).contains(seconds) else { throw .usage }
        timeout = seconds
      case "--idle":
        guard let seconds = Int(value), (0...86400).contains(seconds) else { throw .usage }
        idle = seconds
      default: throw .usage
      }
    }
  }
}
