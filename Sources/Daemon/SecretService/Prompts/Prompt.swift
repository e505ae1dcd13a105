import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySystemd

/// A prompt as its client sees it. It belongs to the client that caused it, can be shown once, and is removed after its completion.
final class Prompt {
  /// The request behind a prompt.
  enum Purpose {
    /// The prompt unlocks these paths, in the form that the client gave.
    case unlock([String])
    /// The prompt stores an item that waits for a passphrase.
    case store(WaitingItem)
    /// The prompt changes the requirements of an item.
    case change(AccessChange)
    /// To create a collection, before there is a vault.
    case create(WaitingCollection)
    /// The client wants another passphrase for the collection of this number.
    case password(Int64)
  }

  /// The state of the prompt.
  enum Phase {
    /// The prompt's client has not asked yet.
    case new
    /// The prompt's client asked, at this moment.
    case asked(at: ContinuousClock.Instant)
    /// The signal is on its way.
    case completing(EventSource?)
  }

  let path: String
  let number: UInt64
  /// The unique bus name of the prompt's client.
  let owner: String
  let purpose: Purpose
  var phase = Phase.new
  var isNew: Bool { if case .new = phase { true } else { false } }
  /// The prompt's place in the queue, while a person is asked.
  var ticket: PromptTicket?
  /// Ends the prompt if its client never asks: the requests behind the prompt should not wait for long.
  var unusedEnd: EventSource?
  /// The item that waits for a passphrase, if there is one.
  var item: WaitingItem? { if case .store(let item) = purpose { item } else { nil } }
  /// The collection of the waiting request; nil without a collection.
  var collection: Int64? {
    let place: CollectionPlace
    switch purpose {
    case .unlock, .create, .password: return nil
    case .store(let item): place = item.new.collection
    case .change(let change): place = change.item.collection
    }
    return if case .vault(let id) = place { id } else { nil }
  }
  /// Whether a request that must not survive a lock waits in the prompt.
  var endsAtLock: Bool {
    switch purpose {
    case .unlock, .create, .password: false
    case .store, .change: true
    }
  }
  /// Whether a request about this item waits in the prompt. If the item is locked, such a request must end.
  func waits(forItem id: Int64) -> Bool {
    switch purpose {
    case .unlock, .create, .password: return false
    case .store(let item): return item.granted?.item == id
    case .change(let change):
      guard case .vault = change.item.collection else { return false }
      return change.item.id == id
    }
  }
  /// The questions that were asked already. No question is asked a second time.
  var asked: Set<Question> = []
  /// The item's passphrase that the client gave; kept until the prompt is completed.
  var given: GivenPassphrase?
  /// Whether the client is told how the prompt ended.
  var tellsOutcome = false
  /// The end of the last question, or the reason why the prompt was withdrawn.
  var lastEnd: PromptEnd?
  /// Whether the prompt's last question ended because too many answers were wrong, so that no question is asked for a while.
  var isPaused = false

  init(path: String, number: UInt64, owner: String, purpose: Purpose) {
    self.path = path
    self.number = number
    self.owner = owner
    self.purpose = purpose
  }

  /// The passphrase that the client gave for a question of its prompt: the passphrase of the item to read, or of a new item. If the
  /// prompt asks for both, the passphrase of the item to read.
  func passphrase(for question: Question) -> GivenPassphrase? {
    switch (purpose, question) {
    case (.unlock, .item), (.store, .newItemPassphrase): given
    case (.change(let change), .itemAccess): change.present.needsPassphrase ? given : nil
    case (.change(let change), .newItemPassphrase): change.present.needsPassphrase ? nil : given
    default: nil
    }
  }

  /// Whether the prompt gave the collection another passphrase.
  func hasChangedPassword(of id: Int64) -> Bool {
    asked.contains(.newPassphrase(id)) && lastEnd == .granted
  }
}
