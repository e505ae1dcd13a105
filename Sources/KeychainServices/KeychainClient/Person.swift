import LatchkeyItemProtection
import LatchkeySecretClient
import LatchkeySecurity
import LatchkeySystemd

/// Asks the person for one call of a program, as far as the call allows.
final class Person {
  private let authentication: Authentication
  private var own: VaultAccess?

  init(_ authentication: Authentication) { self.authentication = authentication }

  // MARK: - connections

  /// The connection that the program's context keeps. The person's earlier answers count on it. Nil if the context keeps none.
  var keptAccess: VaultAccess? { authentication.context?.companion as? VaultAccess }

  /// The connection on which the person is asked and items are then read. It belongs to this call. If the program wants to read
  /// again with the same answer, it belongs to the context.
  func access() -> VaultAccess {
    if let own { return own }
    var access = VaultAccess()
    if let context = authentication.context, context.reuseDuration > 0 {
      let seconds = UInt32(context.reuseDuration.rounded(.up))
      if let kept = keptAccess, kept.reuse == seconds {
        access = kept
      } else {
        access = VaultAccess(reuse: seconds)
        context.companion = access
      }
    }
    own = access
    return access
  }

  // MARK: - what may be asked

  /// Whether the call leaves out items that would need a question.
  var isSkipping: Bool { authentication.interaction == .skipped }

  /// Whether the program's own passphrase is enough for an item, so that no question is needed.
  func canOpenAlone(_ control: AccessControl) -> Bool {
    control.conditions.isEmpty && (!control.needsPassphrase || hasPassphrase)
  }

  private var hasPassphrase: Bool { authentication.context?.withPassphrase { _ in true } ?? false }

  /// Checks that a new item can get a passphrase: the program gives it, or the person may be asked.
  func checkMayChoose() throws(ItemFailure) {
    guard hasPassphrase else { return try checkMayAsk() }
  }

  /// Checks that an item's requirements can be changed: without a question, or the person may be asked.
  func checkMayChange(_ former: AccessControl, to new: AccessControl) throws(ItemFailure) {
    guard canOpenAlone(former), !new.needsPassphrase || hasPassphrase else { return try checkMayAsk() }
  }

  /// Checks that the person may be asked.
  func checkMayAsk(isScreenLocked: Bool = false) throws(ItemFailure) {
    guard authentication.interaction == .allowed, !isScreenLocked else {
      throw ItemFailure(errSecInteractionNotAllowed, isScreenLocked ? .locked : .askingForbidden)
    }
  }

  /// The words of a prompt, and the answers that the program gives.
  func words(withPassphrase isWanted: Bool) -> PromptWords {
    let passphrase = isWanted ? authentication.context?.withPassphrase { try? Secret(copying: $0) } ?? nil : nil
    if passphrase != nil { LockFailureNotice.sayIfNeeded(elsewhere: authentication.context?.lockFailures ?? 0) }
    return PromptWords(reason: authentication.reason, passphrase: passphrase)
  }

  /// The words and answers for an item's requirements.
  func words(for control: AccessControl) -> PromptWords { words(withPassphrase: control.needsPassphrase) }

  // MARK: - asking

  /// Asks the person to unlock objects.
  func unlock(_ paths: [String], isScreenLocked: Bool) throws(ItemFailure) {
    try checkMayAsk(isScreenLocked: isScreenLocked)
    try ask(paths, nil, words(withPassphrase: false), on: access())
  }

  /// Asks the person to meet an item's requirements. The answer counts on `access`.
  ///
  /// - Parameter control: the item's requirements; nil if this version does not know them.
  func open(
    _ path: String, _ control: AccessControl?, on access: VaultAccess, isScreenLocked: Bool
  ) throws(ItemFailure) {
    guard let control else { throw ItemFailure(errSecInteractionNotAllowed) }
    if !canOpenAlone(control) { try checkMayAsk(isScreenLocked: isScreenLocked) }
    try ask([path], control, words(for: control), on: access)
  }

  private func ask(
    _ paths: [String], _ control: AccessControl?, _ words: PromptWords, on access: VaultAccess
  ) throws(ItemFailure) {
    let end = try access.with(.asking) { link throws(BusError) in try link.unlock(paths, words) }
    if let failure = ItemFailure(end, for: control) { throw failure }
  }
}
