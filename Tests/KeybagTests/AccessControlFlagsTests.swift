import LatchkeyKeybag
import Testing

/// The rules of `SecAccessControlCreateWithFlags`.
@Suite("Access control flags")
struct AccessControlFlagsTests {
  @Test(
    "Flags of access control that go together",
    arguments: [
      (0, ""), (0x1, "user-presence"), (0x8000_0001, "user-presence,application-password"),
      (0x2, "biometry-any"), (0x8, "biometry-current-set"), (0x10, "device-passcode"),
      (0x12, "biometry-any,device-passcode"), (0x4012, "biometry-any,device-passcode,or"),
      (0x8012, "biometry-any,device-passcode,and"), (0x4010, "device-passcode,or"),
      (0x8000_0000, "application-password"),
      (0x8000_4018, "biometry-current-set,device-passcode,or,application-password"),
    ] as [(UInt32, String)])
  func allowed(_ bits: UInt32, _ text: String) throws {
    let control = try AccessControl(rawValue: bits)
    #expect(control.rawValue == bits && control.text == text)
    #expect(try AccessControl(text: text) == control)
    #expect(try AccessControl(text: text.split(separator: ",").reversed().joined(separator: ",")) == control)
    #expect(control.requiresAnything == (bits != 0) && control.needsPassphrase == (bits >> 31 == 1))
    #expect(control.combination == (bits & 0x4000 == 0 ? .all : .any))
    #expect(Set(control.conditions.map(\.rawValue)) == Set([0x1, 0x2, 0x8, 0x10].filter { bits & $0 != 0 }))
  }

  @Test(
    "do not go together",
    arguments: [
      (0xC010, .orWithAnd), (0xA, .bothBiometries), (0x400A, .bothBiometries), (0x11, .presenceWithOthers),
      (0x3, .presenceWithOthers), (0x9, .presenceWithOthers), (0x4001, .presenceWithOthers),
      (0x8001, .presenceWithOthers), (0x8000_0011, .presenceWithOthers), (0x4000, .nothingToCombine),
      (0x8000, .nothingToCombine), (0x8000_4000, .nothingToCombine), (0x20, .unknownFlag), (0x4, .unknownFlag),
      (0x4000_0000, .unknownFlag), (0xFFFF_FFFF, .unknownFlag),
    ] as [(UInt32, AccessControl.Mistake)])
  func refused(_ bits: UInt32, _ mistake: AccessControl.Mistake) {
    #expect(throws: mistake) { try AccessControl(rawValue: bits) }
    #expect(!mistake.reason.text.isEmpty)
  }

  @Test(
    "Access control flags have names, and no other name is accepted",
    arguments: [
      "presence", "User-Presence", "user-presence ", " user-presence", ",", "user-presence,", ",user-presence",
      "user-presence,,application-password", "1", "none",
    ])
  func names(_ text: String) {
    #expect(throws: AccessControl.Mistake.self) { try AccessControl(text: text) }
  }

  @Test("every value has one meaning or is invalid")
  func everyValue() throws {
    var seen: Set<String> = []
    for bits in 0..<UInt32(1 << 16) {
      for high in [0, UInt32(1) << 31] {
        guard let control = try? AccessControl(rawValue: bits | high) else { continue }
        #expect(seen.insert(control.text).inserted && control.rawValue == bits | high)
      }
    }
    // The number of allowed values. Conditions may be empty, presence, or biometry (none, any, current) with or without the
    // passcode; "or", "and" or no word joins them; and a passphrase may be added.
    #expect(seen.count == 2 * (1 + 1 + 5 * 3))
  }
}
