import LatchkeyKeybag
import Testing

@Suite("Accessibility classes")
struct AccessibilityClassTests {
  private typealias Row = (
    raw: UInt8, name: String, tier: AccessibilityClass.Tier, metadata: AccessibilityClass.Tier, bound: Bool,
    whileLocked: Bool
  )

  /// The table of the design: raw value, name, tier, metadata tier, device key, stored while locked.
  private let table: [(AccessibilityClass, Row)] = [
    (.whenUnlocked, (6, "when-unlocked", .unlocked, .session, false, true)),
    (.afterFirstUnlock, (7, "after-first-unlock", .session, .session, false, false)),
    (.always, (8, "always", .device, .device, true, false)),
    (.whenUnlockedThisDeviceOnly, (9, "when-unlocked-this-device-only", .unlocked, .session, true, true)),
    (.afterFirstUnlockThisDeviceOnly, (10, "after-first-unlock-this-device-only", .session, .session, true, false)),
    (.alwaysThisDeviceOnly, (11, "always-this-device-only", .device, .device, true, false)),
    (.whenPasscodeSetThisDeviceOnly, (12, "when-passcode-set-this-device-only", .unlocked, .unlocked, true, false)),
  ]

  @Test("Each class has its number, name, tiers and binding")
  func classes() {
    #expect(table.count == AccessibilityClass.allCases.count)
    for (value, row) in table {
      #expect(value.rawValue == row.raw)
      #expect(value.name == row.name)
      #expect(value.tier == row.tier, "\(row.name)")
      #expect(value.metadataTier == row.metadata, "\(row.name)")
      #expect(value.isBoundToDevice == row.bound, "\(row.name)")
      #expect(value.acceptsWhileLocked == row.whileLocked, "\(row.name)")
      #expect(AccessibilityClass(name: row.name) == value)
      #expect(AccessibilityClass(rawValue: row.raw) == value)
    }
  }

  @Test("No other name or number is a class")
  func unknown() {
    for name in ["", "always ", "Always", "when-passcode-set", "6"] { #expect(AccessibilityClass(name: name) == nil) }
    for raw in [0, 1, 5, 13, 255] as [UInt8] { #expect(AccessibilityClass(rawValue: raw) == nil) }
  }

  @Test("Two classes together have every condition of both, and no other", arguments: AccessibilityClass.allCases)
  func joined(_ one: AccessibilityClass) {
    let order: [AccessibilityClass.Tier] = [.device, .session, .unlocked]
    for other in AccessibilityClass.allCases {
      let both = one.joined(with: other)
      #expect(both == other.joined(with: one) && both.joined(with: one) == both)
      #expect(both.migrates == (one.migrates && other.migrates))
      #expect(
        [one.tier, other.tier].max { (order.firstIndex(of: $0) ?? 3) < (order.firstIndex(of: $1) ?? 3) } == both.tier)
      let isPasscode = [one, other].contains(.whenPasscodeSetThisDeviceOnly)
      #expect((both == .whenPasscodeSetThisDeviceOnly) == isPasscode)
    }
    #expect(one.joined(with: one) == one)
  }
}
