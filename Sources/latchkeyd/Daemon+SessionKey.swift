import Control
import Keybag
import Posix
import SessionState
import Systemd
import Vault

/// Tier key C on its way to the vault; erased with the last reference.
private final class ArrivedSessionKey {
  let key: SessionKey
  init(_ key: consuming SessionKey) { self.key = key }
}

/// A login in which nobody gave a password, and whose user has a protector for that.
extension Daemon {
  /// Opens what is readable behind the locked screen. Nothing that is open already is touched by it, and nothing is founded:
  /// who brings this key has not seen whether the rest of the keybag is genuine.
  func unlock(
    _ delivery: consuming SessionDelivery, _ hello: Hello, from peer: LocalSocket.Peer,
    answer: @escaping (UnlockOutcome) -> Void
  ) {
    refresh()
    guard let watch = session.watch, hello.stage == .openSession, watch.machine.state == .sealed,
      case .keys = decide(hello, peer)
    else { return answer(.refused("nothing is to be opened without a password now")) }
    let service = hello.service
    let arrived = ArrivedSessionKey(delivery.takeKey())
    do {
      guard try vault.recognises(arrived.key) else {
        Journal.log(.warning, "a key from \(service) is not this vault's")
        return answer(.wrongKeys)
      }
    } catch { return answer(.unusable(error.explanation)) }
    do { try vault.check(arrived.key) } catch {
      guard error != .isLocked else { return answer(.refused("new keys wait for the password")) }
      Journal.log(.error, "the vault does not open: \(error.explanation)")
      return answer(.unusable(error.explanation))
    }
    watch.sessionKeyArrived { [weak self] outcome in
      guard let self else { return answer(.refused("the daemon ends")) }
      answer(install(arrived, outcome, service))
    }
  }

  private func install(_ arrived: ArrivedSessionKey, _ outcome: KeyOutcome, _ service: String) -> UnlockOutcome {
    switch outcome {
    case .firstUnlockOnly: break
    case .refused(let reason): return .refused(reason)
    case .live, .staged, .notNeeded: return .refused("it is open already")
    }
    do throws(VaultError) {
      try vault.unlock(arrived.key)
      keysCame()
    } catch {
      Journal.log(.error, "the vault does not open: \(error.explanation)")
      undo()
      return .unusable(error.explanation)
    }
    Journal.log(
      .notice, "what is readable behind the locked screen was opened without a password, at a login by \(service)")
    return .live
  }
}
