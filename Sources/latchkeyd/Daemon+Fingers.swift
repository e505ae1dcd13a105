import Biometry
import Prompts
import SecretService
import Systemd
import Vault

// Items that ask for the fingers that were enrolled when they were stored.
extension Daemon {
  /// The fingers that are enrolled now, for an item that is to remember them.
  func presentFingers(_ answer: @escaping (Result<FingerSet, VaultError>) -> Void) {
    fingers.ask { readers in
      let explained = readers.mapError { VaultError.noFingers($0.explanation) }
      answer(explained.flatMap { readers in Daemon.set(of: readers) })
    }
  }

  private static func set(of readers: [EnrolledFingers.Reader]) -> Result<FingerSet, VaultError> {
    do throws(VaultError) { return .success(try FingerSet(readers.map { ($0.name, $0.fingers) })) } catch {
      return .failure(error)
    }
  }

  func check(_ question: Question, then: @escaping (Bool) -> Void) {
    // What cannot be read is refused where it is opened.
    let id: Int64? =
      if case .item(let item, _) = question { item } else if case .itemAccess(let item, _, _) = question { item } else {
        nil
      }
    let remembers = id.flatMap { try? vault.remembersFingers(ofItem: $0) } ?? false
    // What waits is not to remember fingers that are others by now: it would be at its end when it is stored.
    let waiting = presence?.service?.fingers(ofWaiting: question)
    guard remembers || waiting != nil else { return then(true) }
    presentFingers { [weak self] present in
      guard waiting == nil || waiting == (try? present.get()) else { return then(false) }
      guard remembers, let id else { return then(true) }
      then(self?.stands(item: id, present) ?? false)
    }
  }

  /// Whether an item still has the fingers that it remembers. Others are its end; where they cannot be told, it is only
  /// not opened now.
  private func stands(item id: Int64, _ present: Result<FingerSet, VaultError>) -> Bool {
    let path = SecretService.pathName(ofItem: id, in: vault)
    do throws(VaultError) {
      switch try vault.changeOfFingers(ofItem: id, to: try present.get()) {
      case .none?: return true
      // It was stored anew meanwhile, and asks for something else.
      case nil: return false
      case .otherReaders?:
        Journal.log(.notice, "\(path) is not opened: it remembers the fingers of other readers than there are now")
      case .otherFingers?:
        if try vault.forgetFingers(ofItem: id) {
          Journal.log(.warning, "no finger opens \(path) any more: other ones are enrolled than when it was stored")
          return true
        }
        guard let ended = try vault.endItem(id) else { return false }
        Journal.log(.warning, "\(path) was destroyed for good: other fingers are enrolled than when it was stored")
        presence?.service?.deleted([ended])
      }
    } catch { Journal.log(.notice, "\(path) is not opened: \(error.explanation)") }
    return false
  }
}
