import Glibc
import LatchkeyControl
import LatchkeyGettext

/// A protector of the vault, as a person or a program sees it.
struct ListedProtector: Encodable {
  let kind: String
  let state: String
  let created: String

  init(_ protector: Status.Protector) {
    kind =
      switch protector.kind {
      case 1: "password"
      case 2: "recovery-code"
      case 3: "session"
      case 4: "device"
      default: "unknown"
      }
    state =
      switch protector.state {
      case 0: "unproven"
      case 1: "proven"
      case 2: "retiring"
      default: "unknown"
      }
    created = UTCTime.text(protector.created)
  }

  var isSession: Bool { kind == "session" }

  var isPassword: Bool { kind == "password" }

  /// A few words, for a line with all of them.
  var text: String {
    switch kind {
    case "password": state == "retiring" ? translated("former login password") : translated("login password")
    case "recovery-code": translated("recovery code")
    case "session": translated("logins without a password (after-first-unlock only)")
    case "device": translated("device key")
    default: translated("something that this version does not know")
    }
  }
}
