import LatchkeyItemProtection
import LatchkeySystemd
import Security
import Testing

@testable import LatchkeyKeychainClient

@Suite("Codes for what the vault answers")
struct ItemFailureTests {
  @Test(
    "Each error has its code",
    arguments: [
      ("org.freedesktop.Secret.Error.IsLocked", errSecInteractionNotAllowed),
      ("org.latchkey.Error.Duplicate", errSecDuplicateItem), ("org.latchkey.Error.NoPasscode", errSecAuthFailed),
      ("org.latchkey.Error.NoFingers", errSecAuthFailed), ("org.latchkey.Error.Damaged", errSecDecode),
      ("org.latchkey.Error.Unavailable", errSecNotAvailable),
      ("org.freedesktop.DBus.Error.NoMemory", errSecDiskFull),
      ("org.freedesktop.DBus.Error.LimitsExceeded", errSecDataTooLarge),
      ("org.freedesktop.Secret.Error.NoSuchObject", errSecItemNotFound),
      ("org.freedesktop.DBus.Error.UnknownObject", errSecItemNotFound),
      ("org.freedesktop.DBus.Error.ServiceUnknown", errSecNotAvailable),
      ("org.freedesktop.DBus.Error.NoReply", errSecNotAvailable),
      ("org.freedesktop.DBus.Error.InvalidArgs", errSecParam), ("org.example.Error", errSecInternalComponent),
    ])
  func errors(name: String, status: OSStatus) {
    #expect(ItemFailure(BusError(name: name, message: "")).status == status)
  }

  @Test("How a prompt ended")
  func prompts() {
    func status(_ end: PromptOutcome) -> OSStatus? { ItemFailure(end)?.status }
    #expect(status(.accepted) == nil)
    #expect(status(.dismissed) == errSecUserCanceled)
    #expect(status(.refused) == errSecAuthFailed)
    #expect(status(.unavailable) == errSecInteractionNotAllowed)
    #expect(status(.duplicate) == errSecDuplicateItem)
    #expect(status(.withdrawn) == errSecInteractionNotAllowed)
  }
}
