import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeyReasons
import LatchkeySystemd
import LatchkeyVault

/// Brings together the persons' answers and the requests that wait for them: new items, changes of requirements, and clients
/// that may then use an item.
public final class PromptAnswers {
  private let tree: CollectionTree
  private let prompts: PromptTable
  private let creation: ItemCreation
  private let access: AccessWriter
  private let grants: AccessGrants
  private let announcer: StateAnnouncer

  init(
    _ tree: CollectionTree, prompts: PromptTable, creation: ItemCreation, access: AccessWriter, grants: AccessGrants,
    announcer: StateAnnouncer
  ) {
    self.tree = tree
    self.prompts = prompts
    self.creation = creation
    self.access = access
    self.grants = grants
    self.announcer = announcer
  }

  // MARK: - items that clients may use

  /// Lets a client use an item once, or read it for `reuse` seconds, because a person has answered for the item.
  ///
  /// - Parameter caller: the program that was named to the person.
  public func add(_ grant: AccessGrant, for client: String, _ caller: Caller, reuse: UInt16) {
    grants.add(grant, for: client, caller, reuse: reuse)
    announcer.tell(grant.item, to: client)
  }

  /// The seconds for which a client may read after its next prompt; 0 for one use.
  public func reuse(of client: String) -> UInt16 { grants.reuse(of: client) }

  /// Whether a person's answer for that client is valid.
  public func isGranted(_ item: Int64, for client: String) -> Bool { grants.allow(item, for: client) }

  /// The reason why no finger opens an item, according to the last prompt for the item.
  public var fingerProblems: [Int64: Reason] {
    get { grants.fingerProblems }
    set { grants.fingerProblems = newValue }
  }

  // MARK: - items and changes that wait

  /// The label of the item that a question about a new passphrase, or about another access control, is for; nil if no client waits
  /// for it any more.
  public func subject(ofWaiting question: Question) -> String? {
    guard let prompt = waiting(question) else { return nil }
    switch prompt.purpose {
    case .store(let item): return item.new.label
    case .change(let change):
      let vault = tree.holder(change.item.collection).vault
      return (try? vault.reader.info(ofItem: change.item.id))?.metadata?.label
    case .unlock, .create, .password: return nil
    }
  }

  /// An item that waits for this passphrase, or was just stored with it: its collection in the vault, its number once it has
  /// one, its label, and the class that its maker named.
  public func waitingItem(
    _ question: Question
  ) -> (collection: Int64, item: Int64?, label: String, accessibility: AccessibilityClass?)? {
    guard let item = waiting(question)?.item, case .vault(let collection) = item.new.collection else { return nil }
    return (collection, item.stored?.id, item.new.label, item.new.control.accessibility)
  }

  /// The item whose requirements change, if the question is about a change of requirements; else nil.
  public func changingItem(_ question: Question) -> Int64? {
    if case .change(let change)? = waiting(question)?.purpose { change.item.id } else { nil }
  }

  /// The change behind a question, in words; empty if no client waits for it any more.
  public func change(for question: Question) -> String {
    if case .change(let change)? = waiting(question)?.purpose { change.words } else { "" }
  }

  /// Writes the item that waits for this passphrase.
  public func give(_ passphrase: consuming NewItemPassphrase, to question: Question) throws(BusError) {
    guard let prompt = waiting(question) else { throw .noSuchObject("") }
    switch prompt.purpose {
    case .store(let item):
      guard item.stored == nil else { return }
      do throws(BusError) {
        item.stored = try creation.write(item.new, passphrase: passphrase, granted: item.granted, for: prompt.owner)
      } catch {
        item.failure = error
        throw error
      }
    case .change(let change):
      guard !change.isDone else { return }
      try access.apply(change, passphrase: passphrase)
    case .unlock, .create, .password: return
    }
  }

  /// Takes a grant that meets an item's present requirements, so that the requirements may change.
  ///
  /// - Parameter shown: the requirements that the prompt showed.
  /// - Returns: false if no client waits for the change any more, or if the prompt showed other requirements than the present ones.
  public func give(_ grant: AccessGrant, to question: Question, showing shown: AccessControl) -> Bool {
    guard case .change(let change)? = waiting(question)?.purpose, change.present == shown else { return false }
    change.granted = grant
    return true
  }

  /// The fingers that a waiting item must remember; nil if it remembers none.
  public func fingers(ofWaiting question: Question) -> FingerSet? {
    switch waiting(question)?.purpose {
    case .store(let item): item.new.fingers
    case .change(let change): change.fingers
    case .unlock, .create, .password, nil: nil
    }
  }

  private func waiting(_ question: Question) -> Prompt? {
    let number: UInt64
    switch question {
    case .itemAccess(_, let asked, _), .newItemPassphrase(let asked, _): number = asked
    default: return nil
    }
    guard let prompt = prompts[number] else { return nil }
    switch prompt.purpose {
    case .store(let item): return item.question == question ? prompt : nil
    case .change(let change):
      return change.question == question || change.passphraseQuestion == question ? prompt : nil
    case .unlock, .create, .password: return nil
    }
  }
}
