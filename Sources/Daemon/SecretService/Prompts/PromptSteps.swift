import LatchkeyPrompts
import LatchkeySystemd
import LatchkeyVault

/// Finds the next step of a prompt. Steps that need no answer are done here.
final class PromptSteps {
  /// The next step.
  enum Step {
    /// A person is asked. The login password then also lifts the explicit locks of some collections.
    case ask(Question, lifting: Set<Int64> = [])
    /// The prompt is complete: no answer can add anything.
    case complete(dismissed: Bool)
  }

  private let tree: CollectionTree
  private let locks: LockStates
  private let access: AccessWriter
  private let signals: Signals
  private var vault: Vault { tree.vault }

  init(_ tree: CollectionTree, locks: LockStates, access: AccessWriter, signals: Signals) {
    self.tree = tree
    self.locks = locks
    self.access = access
    self.signals = signals
  }

  /// The next step of a prompt.
  func next(of prompt: Prompt) -> Step {
    switch prompt.purpose {
    case .unlock(let paths): return nextToUnlock(paths, for: prompt.owner)
    case .create(let collection):
      if let question = make(collection) { return .ask(question) }
      return .complete(dismissed: collection.made == nil)
    case .password(let id):
      if prompt.hasChangedPassword(of: id) { return .complete(dismissed: false) }
      return nextToChangePassword(of: id, for: prompt.owner)
    case .store(let item): return item.stored == nil ? .ask(item.question) : .complete(dismissed: false)
    case .change(let change):
      if !change.isDone && change.nextQuestion == nil {
        do throws(BusError) { try access.apply(change, passphrase: nil) } catch {
          Journal.log(.warning, "the requirements of an item were not changed: \(error.message)")
        }
      }
      if let question = change.nextQuestion { return .ask(question) }
      return .complete(dismissed: !change.isDone)
    }
  }

  // MARK: - Unlock

  private func nextToUnlock(_ paths: [String], for client: String) -> Step {
    var lifting: Set<Int64> = []
    var questions: [Question] = []
    for path in paths where (try? locks.state(of: path, for: client)) == .locked {
      guard let (question, lockedExplicitly) = question(for: path, of: client) else { continue }
      questions.append(question)
      if let lockedExplicitly { lifting.insert(lockedExplicitly) }
    }
    return questions.first.map { .ask($0, lifting: lifting) } ?? .complete(dismissed: false)
  }

  /// The question whose answer unlocks a path, and the collection whose explicit lock the login password lifts; nil if no
  /// answer would help.
  private func question(for path: String, of client: String) -> (question: Question, lifting: Int64?)? {
    let place: CollectionPlace?
    var item: Int64?
    switch ObjectPath(path) {
    case .collection(let name) where locks.waitsForLabels(name), .item(let name, _) where locks.waitsForLabels(name):
      return (.login, nil)
    case .collection(let name): place = try? tree.place(name)
    case .item(let name, let id):
      place = try? tree.place(name)
      item = id
    case .other: return nil
    }
    if place == CollectionTree.firstPlace && vault.hasNoDatabaseYet {
      return vault.awaitsPassword ? (.login, nil) : nil
    }
    guard case .vault(let id) = place, let state = try? vault.collections.state(of: id) else { return nil }
    let isLockedByItself = item.map(vault.reader.isLockedByItself) ?? vault.collections.hasLockedItems(in: id)
    return switch state {
    case .lockedExplicitly: (.login, id)
    case .sealed, .locked: (.login, isLockedByItself ? id : nil)
    case .unlocked where isLockedByItself: (.login, id)
    case .needsPassphrase: (.collection(id), nil)
    case .unlocked:
      // An item that is not readable although everything is unlocked: it requires something, belongs to another device, or is
      // not trusted.
      if let item {
        (try? vault.reader.readability(ofItem: item)) == .guarded ? (.item(item, client: client), nil) : nil
      } else {
        (.login, nil)
      }
    }
  }

  // MARK: - CreateCollection

  /// Makes a waiting collection, if that can be done now.
  ///
  /// - Returns: the first question to the person; nil if the collection was made, or cannot be.
  private func make(_ waiting: WaitingCollection) -> Question? {
    guard waiting.made == nil else { return nil }
    if vault.hasNoDatabaseYet { return vault.awaitsPassword ? .login : nil }
    do throws(VaultError) {
      if !waiting.alias.isEmpty, let present = try vault.collections.alias(waiting.alias) {
        waiting.made = .vault(present)
      } else {
        let made = try vault.collections.create(
          label: waiting.label, alias: waiting.alias.isEmpty ? nil : waiting.alias)
        waiting.made = .vault(made)
        signals.collectionAdded(.vault(made))
      }
      return nil
    } catch {
      if error == .isLocked { return .login }
      Journal.log(.warning, "a collection was not created after its prompt: \(error.explanation)")
      return nil
    }
  }

  // MARK: - ChangeWithPrompt

  /// The next step before a collection gets another passphrase. For the login's collection, the advice to the person.
  private func nextToChangePassword(of id: Int64, for client: String) -> Step {
    if id == Vault.firstCollection { return .ask(.loginAdvice(client: client)) }
    // If the vault was locked, aliases could not be read before.
    if id == PortalCollection.id(in: vault) { return .complete(dismissed: true) }
    return switch try? vault.collections.state(of: id) {
    case .sealed, .locked: .ask(.login)
    case .lockedExplicitly: .ask(.login, lifting: [id])
    case .needsPassphrase: .ask(.collection(id))
    case .unlocked: .ask(.newPassphrase(id))
    case nil: .complete(dismissed: true)
    }
  }
}
