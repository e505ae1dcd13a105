import LatchkeyKeybag
import LatchkeySystemd
import LatchkeyVault

/// Warns of deprecated classes. One line in the log for each class, not for each item: a program may store any number.
final class DeprecationLog {
  private var told: Set<AccessibilityClass> = []

  /// Notes that an item now has the class `accessibility`.
  func note(_ accessibility: AccessibilityClass, of item: ItemPlace) {
    guard accessibility.isDeprecated, told.insert(accessibility).inserted else { return }
    Journal.log(
      .warning,
      "\(item.numberPath) is '\(accessibility.name)', which is deprecated: whoever has this machine's files can read it without "
        + "a password")
  }
}
