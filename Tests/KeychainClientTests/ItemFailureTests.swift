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

  @Test("A code with several causes names its cause")
  func causes() {
    func cause(_ name: String) -> FailureCause? { ItemFailure(BusError(name: name, message: "")).cause }
    #expect(cause("org.latchkey.Error.NoPasscode") == .noPasscode)
    #expect(cause("org.latchkey.Error.NoFingers") == .noEnrolledFinger)
    #expect(cause("org.latchkey.Error.Duplicate") == nil)
    func cause(_ end: PromptOutcome) -> FailureCause? { ItemFailure(end)?.cause }
    #expect(cause(.refused) == .wrongAnswer)
    #expect(cause(.fingers) == .otherFingers)
    #expect(cause(.paused) == .wrongAnswer)
    #expect(cause(.unavailable) == .nobodyToAsk)
    #expect(cause(.withdrawn) == .withdrawnPrompt)
    #expect(cause(.expired) == .unanswered)
  }

  @Test(
    "A prompt that the vault took away is the cause, unless the session is locked now",
    arguments: [
      ("sealed" as String?, FailureCause.withdrawnPrompt), ("unlocked", .withdrawnPrompt), (nil, .withdrawnPrompt),
      ("locked", .locked),
    ])
  func withdrawn(state: String?, cause: FailureCause) throws {
    let failure = try #require(ItemFailure(PromptOutcome.withdrawn))
    #expect(failure.explained(byState: state) == ItemFailure(errSecInteractionNotAllowed, cause))
  }

  @Test("A sealed vault is the cause where no prompt was open")
  func sealed() {
    #expect(ItemFailure(errSecInteractionNotAllowed).explained(byState: "sealed").cause == .sealed)
    #expect(ItemFailure(errSecInteractionNotAllowed, .askingForbidden).explained(byState: "sealed").cause == .sealed)
  }

  @Test(
    "Where nobody can be asked, an item that only a finger opens names the finger",
    arguments: [
      ("biometry-any", FailureCause.noFinger), ("biometry-current-set,application-password", .noFinger),
      ("biometry-any,and,device-passcode", .noFinger), ("biometry-any,or,device-passcode", .nobodyToAsk),
      ("user-presence", .nobodyToAsk), ("application-password", .nobodyToAsk),
    ])
  func finger(control: String, cause: FailureCause) throws {
    #expect(ItemFailure(PromptOutcome.unavailable, for: try AccessControl(text: control))?.cause == cause)
  }

  @Test("How a prompt ended")
  func prompts() {
    func status(_ end: PromptOutcome) -> OSStatus? { ItemFailure(end)?.status }
    #expect(status(.accepted) == nil)
    #expect(status(.dismissed) == errSecUserCanceled)
    #expect(status(.refused) == errSecAuthFailed)
    #expect(status(.paused) == errSecAuthFailed)
    // Nobody closed it, so it is not cancelled.
    #expect(status(.expired) == errSecInteractionNotAllowed)
    #expect(status(.unavailable) == errSecInteractionNotAllowed)
    #expect(status(.duplicate) == errSecDuplicateItem)
    #expect(status(.withdrawn) == errSecInteractionNotAllowed)
  }
}
