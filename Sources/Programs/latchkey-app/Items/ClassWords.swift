import LatchkeyGettext
import LatchkeyItemProtection

/// The classes and requirements in words.
extension AccessibilityClass {
  /// When items of the class can be read, in a few words.
  var when: String {
    let device = isBoundToDevice && self != .whenPasscodeSetThisDeviceOnly
    return switch self {
    case .whenPasscodeSetThisDeviceOnly: translated("while unlocked, with a login password, on this device only")
    default:
      switch tier {
      case .unlocked:
        device ? translated("while unlocked, on this device only") : translated("while unlocked")
      case .session:
        device
          ? translated("from the first unlock on, on this device only") : translated("from the first unlock on")
      case .device: device && self != .always ? translated("always, on this device only") : translated("always")
      }
    }
  }

  /// The meaning of the class, in one sentence.
  var meaning: String {
    switch tier {
    case .unlocked:
      self == .whenPasscodeSetThisDeviceOnly
        ? translated("Programs can read it while the session is unlocked. It is destroyed with the login password.")
        : translated("Programs can read it while the session is unlocked, and not behind the locked screen.")
    case .session:
      translated("Programs can read it from the first login to the last logout, behind the locked screen too.")
    case .device: translated("Programs can read it whenever the vault runs. No password protects it.")
    }
  }
}

/// Requirements of items.
enum Requirement {
  /// The ones that can be chosen, in the words of the command line. The first one is "nothing more".
  static let all = [
    "", "user-presence", "device-passcode", "biometry-any", "biometry-current-set", "application-password",
  ]

  /// Words for one requirement. A combination of requirements stays in the command line's words.
  static func words(_ require: String) -> String {
    switch require {
    case "": translated("nothing more")
    case "user-presence": translated("your password or a finger")
    case "device-passcode": translated("your password")
    case "biometry-any": translated("a finger")
    case "biometry-current-set": translated("a finger that is enrolled now")
    case "application-password": translated("a passphrase of its own")
    default: ShownText.name(require)
    }
  }
}
