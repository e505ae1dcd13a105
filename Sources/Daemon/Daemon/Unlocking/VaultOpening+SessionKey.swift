import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySessionState
import LatchkeySystemd
import LatchkeyVault

/// Tier key C on its way to the vault; erased with the last reference.
private final class ArrivedSessionKey {
  let key: SessionKey
  init(_ key: consuming SessionKey) { self.key = key }
}

// Logins in which nobody gave a password, if their user has a protector for such logins.
extension VaultOpening {
  /// Unlocks the classes that are readable behind the locked screen. It leaves unlocked keys alone, and creates nothing, because
  /// this key does not prove that the rest of the keybag is genuine.
  func unlock(
    _ delivery: consuming SessionDelivery, _ hello: Hello, by claim: Claim?, from peer: LocalSocket.Peer,
    answer: @escaping (UnlockOutcome) -> Void
  ) {
    device.refresh()
    let service = hello.service
    guard let watch = session.watch, watch.machine.state == .sealed else {
      return answer(.refused(.session(.alreadyUnlocked)))
    }
    guard hello.stage == .openSession, let claim, PeerProcess.of(pid: peer.pid) == claim.process,
      case .keys = decide(hello, peer)
    else {
      return answer(refusal(.refused(.session(.unlocksNothing)), of: service))
    }
    let isThisVaults = delivery.vault == vault.keybag?.vault
    let arrived = ArrivedSessionKey(delivery.takeKey())
    do {
      guard isThisVaults, try vault.recognises(arrived.key) else {
        return answer(refusal(.wrongKeys, of: service))
      }
    } catch { return answer(refusal(.unusable(error.reason), of: service)) }
    do { try vault.check(arrived.key) } catch {
      guard error != .isLocked else { return answer(refusal(.refused(.session(.waitsForPassword)), of: service)) }
      return answer(refusal(.unusable(error.reason), of: service))
    }
    watch.sessionKeyArrived(by: claim, after: deviceService.ask) { [weak self] outcome in
      guard let self, !isEnding else { return answer(.refused(.session(.daemonEnds))) }
      answer(install(arrived, outcome, service))
    }
  }

  /// At such a login no person can be told, so only the journal shows the refusal.
  private func refusal(_ outcome: UnlockOutcome, of service: String) -> UnlockOutcome {
    switch outcome {
    case .refused(let reason):
      Journal.log(.notice, "the session key from \(service) unlocks nothing: \(reason.text)")
    case .wrongKeys: Journal.log(.warning, "the session key from \(service) belongs to another keybag")
    case .unusable(let reason): Journal.log(.error, "the vault cannot be unlocked: \(reason.text)")
    case .live, .staged: break
    }
    return outcome
  }

  private func install(_ arrived: ArrivedSessionKey, _ outcome: KeyOutcome, _ service: String) -> UnlockOutcome {
    switch outcome {
    case .firstUnlockOnly: break
    case .refused(let reason): return refusal(.refused(reason), of: service)
    case .live, .staged, .notNeeded: return .refused(.session(.alreadyUnlocked))
    }
    do throws(VaultError) {
      try vault.unlock(arrived.key)
      observer.keysCame()
    } catch {
      observer.keysDidNotOpen()
      return refusal(.unusable(error.reason), of: service)
    }
    Journal.log(
      .notice, "a login by \(service) unlocked the after-first-unlock items without a password")
    return .live
  }
}
