import CLatchkeyHelper
import CLatchkeyPAMModule

/// The PAM service by whose name libpam was started.
struct Service {
  let name: UnsafePointer<CChar>

  /// Whether this module leaves the service alone in every entry point, whatever stack it was put into.
  var isIgnored: Bool { helper_excludes_service(name) }

  /// The service by which a prompt asks for the login password: the only one whose authentication answers a prompt.
  var isUnlock: Bool { isNamed("latchkey-unlock") }

  /// The services of prompts for a passphrase. No other service asks for a passphrase, whatever its line says, because a
  /// greeter or a locker would show that question as one for the login password.
  var mayAskPassphrase: Bool { isNamed("latchkey-collection") || isNamed("latchkey-item") }

  /// Whether it is a screen locker's, so that a touch at this screen may be meant for it.
  var mayAskFinger: Bool { helper_asks_finger(name) }

  private func isNamed(_ other: Literal) -> Bool { strcmp(name, other.cString) == 0 }
}
