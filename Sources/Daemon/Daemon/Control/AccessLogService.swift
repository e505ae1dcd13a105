import LatchkeyAccessEvent
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyLogControl
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeySecretService
import LatchkeyVault

/// Writes questions to a person into the access log, and serves its readers. Only questions about items are logged. The queue
/// reports the beginning and the end of each question.
final class AccessLogService {
  private let vault: Vault
  private let upkeep: VaultUpkeep
  private let presence: BusPresence
  /// The entries to write for the items of the questions that wait now.
  private var askedAbout: [Question: AccessEvent] = [:]

  init(_ vault: Vault, upkeep: VaultUpkeep, presence: BusPresence) {
    self.vault = vault
    self.upkeep = upkeep
    self.presence = presence
  }

  func asked(_ question: Question) {
    // The item is noted now, because it may be deleted before the question ends.
    askedAbout[question] = event(question, .ended(.withdrawn), .unknown)
  }

  func ended(_ question: Question, for caller: Caller, _ end: PromptEnd) {
    let before = askedAbout.removeValue(forKey: question)
    let outcome = AccessEvent.Outcome.ended(end)
    guard var event = event(question, outcome, caller) ?? before else { return }
    event.outcome = outcome
    event.caller = caller.name
    if let before, event.collection == 0 || event.label.isEmpty {
      (event.collection, event.label) = (before.collection, before.label)
    }
    note(event)
  }

  func used(_ question: Question, by caller: Caller) {
    if let event = event(question, .used, caller) { note(event) }
  }

  /// Adds an entry. It is written later, and nobody waits for that.
  private func note(_ event: AccessEvent) {
    vault.accessLog.add(event)
    upkeep.goOn()
  }

  /// The entry for a question; nil if the question is about no item.
  private func event(_ question: Question, _ outcome: AccessEvent.Outcome, _ caller: Caller) -> AccessEvent? {
    switch question {
    case .item(let id, _): return vault.accessLog.event(.open, outcome, item: id, caller: caller.name)
    case .itemAccess(let id, _, _): return vault.accessLog.event(.change, outcome, item: id, caller: caller.name)
    case .newItemPassphrase:
      if let id = presence.service?.answers.changingItem(question) {
        return vault.accessLog.event(.change, outcome, item: id, caller: caller.name)
      }
      guard let item = presence.service?.answers.waitingItem(question) else { return nil }
      if let id = item.item { return vault.accessLog.event(.store, outcome, item: id, caller: caller.name) }
      var event = AccessEvent(.store, outcome, collection: UInt64(clamping: item.collection), caller: caller.name)
      if vault.accessLog.mayHaveLabels(of: item.accessibility ?? .whenUnlocked, in: item.collection) {
        event.label = item.label
      }
      return event
    case .login, .loginAdvice, .collection, .newPassphrase, .newBackup, .backup: return nil
    }
  }

  /// Registers the messages of the control socket that this type answers.
  func serve(in table: inout ControlTable) {
    table.answer(GetAccessLog.self) { [vault] message, _ throws(Refusal) in
      let found = try Refusal.vault { () throws(VaultError) in
        try vault.accessLog.entries(below: message.below, limit: AccessLogPage.limit)
      }
      return AccessLogPage(lines: found.entries, hasMore: found.hasMore)
    }
    table.answer(ClearAccessLog.self) { [vault] _, peer throws(Refusal) in
      try Refusal.vault { () throws(VaultError) in
        try vault.accessLog.clear(for: Caller(pid: peer.credentials.pid).name)
      }
    }
  }
}
