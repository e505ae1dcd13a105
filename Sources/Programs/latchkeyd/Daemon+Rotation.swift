import LatchkeyControl
import LatchkeySystemd
import LatchkeyVault

/// A change of keys: the helper has put new ones into the keybag, and brings them.
extension Daemon {
  func checkTakesNewKeys() throws(Refusal) {
    guard !isEnding else { throw Refusal(reason: "the daemon ends") }
    guard session.state == .unlocked else { throw Refusal(reason: "the vault is locked. Run 'latchkey unlock' first") }
    do throws(VaultError) { try vault.checkMayRotate() } catch { throw Refusal(reason: error.explanation) }
  }

  func rotate(_ delivery: consuming TierDelivery) -> UnlockOutcome {
    // The first password's keybag: the vault stays open, and is one that can be locked.
    refresh()
    do {
      guard try vault.recognises(delivery.tiers, former: delivery.former) else { return .wrongKeys }
    } catch { return .unusable(error.explanation) }
    noteDerivationMemory(of: delivery)
    // It may have been locked since it was asked: then the next unlock brings the same keys.
    do throws(Refusal) { try checkTakesNewKeys() } catch { return .refused(error.reason) }
    do throws(VaultError) {
      try vault.check(delivery.tiers, former: delivery.former, mayCreate: false)
      try vault.unlock(
        delivery.tiers, former: delivery.former, opening: .everything, liftingMarks: false, mayCreate: false)
    } catch {
      Journal.log(.error, "the keys cannot be changed: \(error.explanation)")
      undo()
      return .unusable(error.explanation)
    }
    passwordTime = nil
    workWhenIdle()
    // New keys are no reason to bring back what was erased beside the daemon.
    tellDestroyed()
    meetDevice()
    return .live
  }

  func neededEpoch() throws(Refusal) -> UInt32 {
    guard vault.hasDatabase, session.state != .sealed else { throw Refusal(reason: "the vault is locked") }
    return vault.neededEpoch
  }

  /// How far a change of keys is.
  var rotation: Status.Rotation {
    var rotation = Status.Rotation()
    guard let progress = try? vault.rotationProgress() else { return rotation }
    rotation.left = UInt64(progress.left)
    rotation.closed = UInt64(progress.closed)
    rotation.otherDevice = UInt64(progress.otherDevice)
    rotation.quarantined = UInt64(progress.quarantined)
    rotation.needsFormerKeys = vault.needsFormerKeys
    return rotation
  }
}
