import CLatchkeyHelper
import CLatchkeyPAMModule

/// The PAM service whose name the application gave libpam.
struct Service {
  let name: UnsafePointer<CChar>

  /// Whether this module does nothing for the service, in every entry point and in every stack.
  var isIgnored: Bool { helper_excludes_service(name) }

  /// The service by which a prompt asks for the login password: the only service whose authentication answers a prompt.
  var isUnlock: Bool { isNamed("latchkey-unlock") }

  /// The services of prompts for a passphrase. No other service asks for a passphrase, even if its line says so, because a greeter
  /// or a locker would show the question as if it were for the login password.
  var mayAskPassphrase: Bool { isNamed("latchkey-collection") || isNamed("latchkey-item") }

  /// Whether this is the service of a screen locker, so that a touch at this screen may be meant for it.
  var mayAskFinger: Bool { helper_asks_finger(name) }

  private func isNamed(_ other: Literal) -> Bool { strcmp(name, other.cString) == 0 }
}
