import Glibc
import LatchkeyControl
import LatchkeyPosix
import LatchkeySystemd

/// The arguments of latchkey-prompt.
struct Options {
  /// The number by which the daemon knows the prompt.
  let number: UInt64
  /// The runtime folder below which the control socket is.
  var runtime: String
  /// The folder of the PAM services, instead of `/etc/pam.d`.
  var pamFolder: String?
  /// The account of the person who is asked.
  let account: Account

  static let usage = """
    usage: latchkey-prompt [--runtime DIR] [--pam-folder DIR] NUMBER

    Asks the person for what one prompt of latchkeyd wants, by PAM. Started by the user's service manager.
      --runtime DIR     where the control socket is: DIR/latchkey/control (default: /run/user/UID)
      --pam-folder DIR  where the PAM services are (default: /etc/pam.d)
    """

  /// Reads the arguments.
  init(_ arguments: [String]) throws(ProgramArguments.Failure) {
    guard let account = Account(uid: getuid()) else { throw .noAccount }
    self.account = account
    runtime = ControlSocket.runtimeFolder(uid: account.uid)
    var number: UInt64?
    var rest = ProgramArguments(arguments)
    while let argument = try rest.next() {
      switch argument {
      case "--runtime": runtime = try rest.path()
      case "--pam-folder": pamFolder = try rest.path()
      default:
        guard number == nil, let value = UInt64(argument) else { throw .usage }
        number = value
      }
    }
    guard let number else { throw .usage }
    self.number = number
  }
}
