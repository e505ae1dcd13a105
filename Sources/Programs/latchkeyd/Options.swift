import Glibc
import LatchkeyControl
import LatchkeyDeviceService
import LatchkeyPosix
import LatchkeySystemd

/// The arguments of latchkeyd.
struct Options {
  /// The home folder below which the vault is.
  var home: String
  /// The runtime folder below which the control socket is.
  var runtime: String
  /// The program that shows a prompt if no service manager does.
  var promptProgram: String
  /// The rules that were installed.
  var rules = "/usr/share/latchkey/rules.yaml"
  /// The path of the socket at which the machine's device key service listens.
  var deviceSocket = ServiceDeviceKey.path
  /// The user who owns the vault.
  let account: Account

  static let usage = """
    usage: latchkeyd [--home DIR] [--runtime DIR] [--rules FILE] [--prompt-program FILE]
                     [--device-socket PATH]

    The daemon of the Latchkey vault; one for each user, started by the user's service manager.
      --home DIR     where the vault is: DIR/.local/share/latchkey (default: the home folder of the account);
                     the user's class rules are DIR/.config/latchkey/rules.yaml
      --runtime DIR  where the control socket is: DIR/latchkey/control (default: /run/user/UID)
      --rules FILE   the class rules that were installed (default: /usr/share/latchkey/rules.yaml)
      --device-socket PATH
                     where the machine's device key service listens (default: \(ServiceDeviceKey.path))
      --prompt-program FILE
                     what shows prompts where there is no service manager (default: latchkey-prompt beside latchkeyd)
    """

  /// Reads the arguments. The environment is ignored, because module, helper and daemon must agree on the folders.
  init(_ arguments: [String]) throws(ProgramArguments.Failure) {
    guard let account = Account(uid: getuid()) else { throw .noAccount }
    self.account = account
    home = account.home
    runtime = ControlSocket.runtimeFolder(uid: account.uid)
    promptProgram = Process.folder + "/latchkey-prompt"
    var rest = ProgramArguments(arguments)
    while let argument = try rest.next() {
      switch argument {
      case "--home": home = try rest.path()
      case "--runtime": runtime = try rest.path()
      case "--prompt-program": promptProgram = try rest.path()
      case "--device-socket": deviceSocket = try rest.path()
      case "--rules": rules = try rest.path()
      default: throw .usage
      }
    }
  }
}
