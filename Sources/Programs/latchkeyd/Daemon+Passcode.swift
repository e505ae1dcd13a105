import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeySecretService
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// Whether the login has a password, and what follows from that.
extension Daemon {
  /// Does as the keybag says: a vault without a password opens by itself and is never locked; once the keybag has a
  /// password, the sessions decide again.
  func followPassword() {
    guard let watch = session.watch, vault.hasKeybag else { return }
    guard vault.isPasswordless else {
      if watch.machine.isPasswordless { watch.passwordless(false) }
      return
    }
    guard !watch.machine.isPasswordless, Process.now >= nextDeviceTry else { return }
    // A device key service that does not answer is waited for, and must not hold up everybody who asks anything.
    nextDeviceTry = Process.now + 5000
    do throws(VaultError) {
      try vault.openByDevice()
      (passwordlessProblem, nextDeviceTry) = (nil, 0)
      watch.passwordless(true)
      keysCame()
    } catch {
      // It is tried again and again: one line for each reason is enough.
      guard passwordlessProblem != error.explanation else { return }
      passwordlessProblem = error.explanation
      Journal.log(.error, "the vault of this login without a password does not open: \(error.explanation)")
    }
  }

  /// Waits for a device key service that was not quick enough, and does what needs it.
  func meetDevice() {
    guard vault.waitsForDevice else { return }
    deviceService.ask { [weak self] in
      guard let self, !deviceService.isSilent, vault.waitsForDevice else { return }
      deviceService.forgetBreakingOff()
      do throws(VaultError) { try vault.meetDevice() } catch {
        return Journal.log(.error, "what needs this device's key does not open: \(error.explanation)")
      }
      workWhenIdle()
      tellDestroyed()
      sessionStateChanged()
      guard deviceService.wasBrokenOff, vault.waitsForDevice else {
        meetingDelay = Daemon.shortestMeetingDelay
        return
      }
      // The loop has other work first: that may be a lock. Where it always has, this tries less and less often.
      meeting = try? loop.addTimer(after: meetingDelay) { [weak self] in self?.meetDevice() }
      meetingDelay = min(meetingDelay * 2, Daemon.settleTime)
    }
  }

  func openWithoutAsking(_ question: Question, lifting: Set<Int64>) {
    guard question == .login, session.machine.isPasswordless, !lifting.isEmpty else { return }
    do throws(VaultError) {
      try vault.openByDevice(liftingMarksOf: lifting)
      keysCame()
    } catch {
      Journal.log(.error, "a collection does not open: \(error.explanation)")
      // What failed took the keys that were there with it. It is said to be open again when it is.
      if !vault.isUnlocked { undo() }
    }
  }

  func deviceSecret(_ request: DeviceSecretRequest) throws(Refusal) -> SealedDeviceSecret {
    vault.refresh()
    let secret = try Refusal.vault { () throws(VaultError) -> DeviceSecret in
      switch request.wanted {
      case .present: return try vault.presentDeviceSecret()
      case .new(let vault, let protector): return try self.vault.newDeviceSecret(vault: vault, protector: protector)
      }
    }
    do throws(SodiumError) { return try SealedDeviceSecret(secret, to: request.publicKey) } catch {
      throw Refusal(reason: "the answer cannot be sealed: \(error)")
    }
  }

  func destroyPasscodeItems(passwordRemoved: Bool) throws(Refusal) -> UInt64 {
    refresh()
    do throws(VaultError) {
      // What was destroyed before a password was seen again is not to be looked for at every login.
      if vault.mayHavePasscodeItems { try vault.destroyPasscodeItems() }
      if !passwordRemoved { try vault.startPasscodeItemsAnew() }
    } catch {
      tellDestroyed()
      Journal.log(.error, "what hangs on a password of the login's cannot be destroyed: \(error.explanation)")
      throw Refusal(reason: error.explanation)
    }
    return UInt64(tellDestroyed())
  }

  /// Tells clients and the journal of items that are gone.
  @discardableResult
  func tellDestroyed() -> Int {
    let destroyed = vault.takeDestroyed()
    guard !destroyed.isEmpty else { return 0 }
    Journal.log(
      .warning,
      "destroyed for good, as they hang on a password of the login's: \(destroyed.count) items of class "
        + AccessibilityClass.whenPasscodeSetThisDeviceOnly.name)
    presence?.service?.deleted(destroyed)
    // Out of the log as well, and not only when all is quiet.
    vault.settle()
    return destroyed.count
  }
}
