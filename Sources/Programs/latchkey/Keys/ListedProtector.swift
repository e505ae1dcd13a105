import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyKeybag

/// The facts about a protector that a list shows to a person or a program.
struct ListedProtector: Encodable {
  let kind: String
  let state: String
  let created: String
  let unlocks: String
  let name: String

  init(_ protector: Status.Protector) {
    let known = Protector.Kind(rawValue: protector.kind)
    kind = known?.name ?? "unknown"
    unlocks = known?.reach.rawValue ?? "unknown"
    state =
      switch protector.state {
      case 0: "unproven"
      case 1: "proven"
      case 2: "retiring"
      default: "unknown"
      }
    created = UTCTime.text(protector.created)
    name = protector.name
  }

  var isSession: Bool { kind == Protector.Kind.session.name }

  var isSecurityKey: Bool { kind == Protector.Kind.securityKey.name }

  var isPassword: Bool { kind == Protector.Kind.password.name }

  /// A few words, for a line of its own.
  var text: String {
    switch kind {
    case "password": state == "retiring" ? translated("former login password") : translated("login password")
    case "recovery-code": translated("recovery code")
    case "session": translated("logins without a password (after-first-unlock only)")
    case "device": translated("device key")
    case "security-key": translated("security key \(name)")
    case "finger": translated("a finger, after the password")
    default: translated("something that this version does not know")
    }
  }
}
