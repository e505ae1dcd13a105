import LatchkeyFingerReaders
import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeyReasons
import LatchkeySecretService
import LatchkeySystemd
import LatchkeyVault

/// Compares the fingers that an item remembers with the fingers that are enrolled now.
final class FingerCheck {
  private let vault: Vault
  private let presence: BusPresence
  private let fingers: EnrolledFingers

  init(_ vault: Vault, presence: BusPresence, loop: EventLoop) {
    self.vault = vault
    self.presence = presence
    fingers = EnrolledFingers(loop: loop)
  }

  /// The fingers that are enrolled now, for an item that is to remember them.
  func presentFingers(_ answer: @escaping (Result<FingerSet, VaultError>) -> Void) {
    fingers.ask { readers in
      let explained = readers.mapError { VaultError.noFingers($0.reason) }
      answer(explained.flatMap { readers in FingerCheck.set(of: readers) })
    }
  }

  private static func set(of readers: [EnrolledFingers.Reader]) -> Result<FingerSet, VaultError> {
    do throws(VaultError) { return .success(try FingerSet(readers.map { ($0.name, $0.fingers) })) } catch {
      return .failure(error)
    }
  }

  /// The end of a question that must not be asked because of the enrolled fingers; nil if it must be asked.
  func check(_ question: Question, then: @escaping (PromptEnd?) -> Void) {
    // An item that cannot be read is refused when it is opened.
    let id: Int64? =
      if case .item(let item, _) = question { item } else if case .itemAccess(let item, _, _) = question { item } else {
        nil
      }
    let remembers = id.flatMap { try? vault.reader.remembersFingers(ofItem: $0) } ?? false
    // An item that waits to be stored must not remember fingers that have changed, because it could not be read then.
    let waiting = presence.service?.answers.fingers(ofWaiting: question)
    guard remembers || waiting != nil else { return then(nil) }
    presentFingers { [weak self] present in
      guard waiting == nil || waiting == (try? present.get()) else { return then(.fingers) }
      guard remembers, let id else { return then(nil) }
      then(self?.end(ofQuestionAbout: id, present) ?? nil)
    }
  }

  /// The end of a question about an item because of the enrolled fingers; nil if the item remembers these fingers, or another
  /// condition is enough. Other fingers lose nothing, because the item opens again when its own are back.
  private func end(ofQuestionAbout id: Int64, _ present: Result<FingerSet, VaultError>) -> PromptEnd? {
    guard let service = presence.service else { return .fingers }
    let problem: Reason?
    do throws(VaultError) {
      // The item was stored anew meanwhile, and requires something else.
      guard let change = try vault.reader.changeOfFingers(ofItem: id, to: try present.get()) else { return .outdated }
      problem = change.reason
    } catch { problem = .because(error.reason, .finger(.seeService)) }
    let before = service.answers.fingerProblems[id]
    service.answers.fingerProblems[id] = problem
    guard let problem else { return nil }
    if before != problem {
      Journal.log(
        .notice, Reason.noFingerOpens(SecretService.numberName(ofItem: id, in: vault), problem).text)
    }
    return otherConditions(ofItem: id) == nil ? .fingers : nil
  }

  /// The requirements of an item if its fingers do not count; nil if nothing else is enough.
  func otherConditions(ofItem id: Int64) -> AccessControl? {
    guard presence.service?.answers.fingerProblems[id] != nil else { return nil }
    return (try? vault.reader.info(ofItem: id))?.access?.withoutCurrentSet
  }

  /// Whether one answer lets a client read the item more than once. The fingers are looked at before an answer counts, so an item
  /// that remembers them asks each time.
  func mayReadAgain(item id: Int64) -> Bool { !((try? vault.reader.remembersFingers(ofItem: id)) ?? true) }

  /// The problems that `latchkey status` shows for items that wait for fingers.
  var problems: [Reason] {
    guard let service = presence.service else { return [] }
    return service.answers.fingerProblems.sorted { $0.key < $1.key }.compactMap { id, problem in
      // The item may have been deleted since.
      guard (try? vault.reader.remembersFingers(ofItem: id)) ?? false else { return nil }
      return .noFingerOpens(SecretService.numberName(ofItem: id, in: vault), problem)
    }
  }
}
