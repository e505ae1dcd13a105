import Foundation
import LatchkeyItemProtection
import LatchkeySecretClient
import LatchkeySecurity
import LatchkeySystemd
import Testing

@testable import LatchkeyKeychainClient

@Suite("Codes for the vault's answers")
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
    #expect(cause(.refused) == .wrongAnswer(nil))
    #expect(cause(.fingers) == .otherFingers)
    #expect(cause(.paused) == .pausedPassphrase)
    #expect(cause(.unavailable) == .nobodyToAsk)
    #expect(cause(.withdrawn) == .withdrawnPrompt)
    #expect(cause(.expired) == .unanswered)
    #expect(ItemFailure(PromptOutcome.full)?.status == errSecDiskFull)
  }

  @Test("Each reason why there is no connection is a cause of its own")
  func connections() {
    func failure(_ reason: ConnectionFailure) -> ItemFailure { ItemFailure(reason) }
    #expect(failure(.noBus) == ItemFailure(errSecNotAvailable, .noBus))
    #expect(failure(.notRunning) == ItemFailure(errSecNotAvailable, .noVault))
    for reason in [ConnectionFailure.stranger, .otherService] {
      #expect(failure(reason) == ItemFailure(errSecNotAvailable, .otherService))
    }
    let broken = ConnectionFailure.broken(BusError(name: "org.example.Error", message: ""))
    #expect(failure(broken) == ItemFailure(errSecNotAvailable, .silentVault))
  }

  @Test(
    "A withdrawn prompt is the cause, unless the session is locked now",
    arguments: [
      ("sealed" as String?, FailureCause.withdrawnPrompt), ("unlocked", .withdrawnPrompt), (nil, .withdrawnPrompt),
      ("locked", .locked),
    ])
  func withdrawn(state: String?, cause: FailureCause) throws {
    let failure = try #require(ItemFailure(PromptOutcome.withdrawn))
    #expect(failure.explained(byState: state, uid: 1000) == ItemFailure(errSecInteractionNotAllowed, cause))
  }

  @Test("A sealed vault is the cause if no prompt was open")
  func sealed() {
    let failure = ItemFailure(errSecInteractionNotAllowed)
    #expect(failure.explained(byState: "sealed", uid: 65534).cause == .sealed)
    let forbidden = ItemFailure(errSecInteractionNotAllowed, .askingForbidden)
    #expect(forbidden.explained(byState: "sealed", uid: 65534).cause == .sealed)
  }

  @Test("A missing vault and a sealed vault are different causes")
  func noVault() {
    let code = [16, 0] + Array("vault.notCreated".utf8) + [0]
    let failure = ItemFailure(BusError(name: BusError.lockedName, message: "none yet", detail: code))
    #expect(failure.explained(byState: "sealed", uid: 1000) == ItemFailure(errSecInteractionNotAllowed, .noVaultYet))
    #expect(failure.explained(byState: "sealed", uid: 1).cause == .systemAccount)
    let locked = ItemFailure(BusError(name: BusError.lockedName, message: "the item is locked"))
    #expect(locked.explained(byState: "sealed", uid: 1000).cause == .sealed)
  }

  @Test("Root and system accounts learn that they get no vault", arguments: [0, 1, 99] as [uid_t])
  func systemAccount(uid: uid_t) {
    let failure = ItemFailure(errSecInteractionNotAllowed)
    #expect(failure.explained(byState: "sealed", uid: uid).cause == .systemAccount)
    #expect(failure.explained(byState: "locked", uid: uid).cause == .locked)
    let message = message(of: failure.explained(byState: "sealed", uid: uid))
    #expect(message.contains("Root and system accounts get no vault."), "\(message)")
    #expect(!message.contains("Log in"), "\(message)")
  }

  @Test(
    "After wrong answers, the message names the secret in the prompt's question, and nothing else",
    arguments: [
      (nil as String?, "The password was"), ("device-passcode", "The login password was"),
      ("biometry-any", "The finger was"), ("application-password", "The passphrase of the item was"),
      ("user-presence", "The login password or finger was"),
      ("user-presence,application-password", "The login password, finger or passphrase of the item was"),
    ])
  func wrongAnswers(control: String?, start: String) throws {
    let control = try control.map { text in try AccessControl(text: text) }
    let message = message(of: try #require(ItemFailure(PromptOutcome.refused, for: control)))
    let sentence = "The user name or passphrase you entered is not correct."
    #expect(message == "\(sentence) \(start) not accepted. Call again to try once more.")
    let paused = self.message(of: try #require(ItemFailure(PromptOutcome.paused, for: control)))
    #expect(paused.contains("half a minute") && !message.contains("half a minute"), "\(paused)")
  }

  /// The message that a program reads after such a failed call.
  private func message(of failure: ItemFailure) -> String {
    let service = ItemService(store: FailingStore(failure: failure))
    let status = service.delete([kSecClass: kSecClassGenericPassword] as NSDictionary)
    return SecCopyErrorMessageString(status, nil) as String? ?? ""
  }

  @Test(
    "If nobody can be asked, the error of an item that only a finger opens names the finger",
    arguments: [
      ("biometry-any", FailureCause.noFinger), ("biometry-current-set,application-password", .noFinger),
      ("biometry-any,and,device-passcode", .noFinger), ("biometry-any,or,device-passcode", .nobodyToAsk),
      ("user-presence", .nobodyToAsk), ("application-password", .nobodyToAsk),
    ])
  func finger(control: String, cause: FailureCause) throws {
    #expect(ItemFailure(PromptOutcome.unavailable, for: try AccessControl(text: control))?.cause == cause)
  }

  @Test("Errors for each end of a prompt")
  func prompts() {
    func status(_ end: PromptOutcome) -> OSStatus? { ItemFailure(end)?.status }
    #expect(status(.accepted) == nil)
    #expect(status(.dismissed) == errSecUserCanceled)
    #expect(status(.refused) == errSecAuthFailed)
    #expect(status(.paused) == errSecAuthFailed)
    // Nobody closed the prompt, so the call does not count as cancelled.
    #expect(status(.expired) == errSecInteractionNotAllowed)
    #expect(status(.unavailable) == errSecInteractionNotAllowed)
    #expect(status(.duplicate) == errSecDuplicateItem)
    #expect(status(.withdrawn) == errSecInteractionNotAllowed)
  }
}

/// A store whose calls all fail in the same way.
private struct FailingStore: ItemStore {
  let failure: ItemFailure

  let accessGroups = AccessGroups(["mail"])

  func add(_: NewItem) throws(ItemFailure) -> StoredItem { throw failure }
  func items(matching _: ItemQuery) throws(ItemFailure) -> [StoredItem] { throw failure }
  func update(_: ItemQuery, with _: ItemChanges) throws(ItemFailure) -> Int { throw failure }
  func delete(_: ItemQuery) throws(ItemFailure) -> Int { throw failure }
}
