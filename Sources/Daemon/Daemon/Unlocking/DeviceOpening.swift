import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// Unlocks by the device key: the vault of a login without a password, and the classes that waited for the device key
/// service.
final class DeviceOpening {
  private let vault: Vault
  private let loop: EventLoop
  private let session: SessionReference
  private let service: DeviceServiceProbe
  private let upkeep: VaultUpkeep
  private unowned let observer: any KeyObserver
  /// The next ``meet()``, if other work came first.
  private var meeting: EventSource?
  /// The time from the last ``meet()`` to the next one.
  private var meetingDelay = DeviceOpening.shortestMeetingDelay
  /// The logged reason why the vault of a login without a password did not open.
  private var problem: String?
  /// The earliest time of the next try, on the clock of `Process.now`.
  private var nextTry = 0
  /// The next or last try for each helper that waits for a secret, by a number of its own.
  private var waits: [UInt64: EventSource] = [:]
  private var nextWait: UInt64 = 0
  /// The next try to destroy items, by the number of the request.
  private var destructions: [UInt64: EventSource] = [:]

  private static let shortestMeetingDelay = Duration.milliseconds(200)
  private static let longestSecretDelay = Duration.seconds(1)
  /// The time for which the first login of an account waits for the service, in milliseconds. It is less than the helper's own
  /// limit, so that the helper hears the reason. The first login has only this try. Other helpers have more tries and must not
  /// wait: after the removal of a password, for example, items must be destroyed.
  private static let creationTime = 20_000
  /// The time for which the destruction of items is tried again while other work comes first, in milliseconds. A person who removes
  /// the password waits for it.
  private static let destructionTime = 2000
  /// The most helpers that may wait at a time.
  private static let waitLimit = 3

  init(
    _ vault: Vault, session: SessionReference, service: DeviceServiceProbe, upkeep: VaultUpkeep, loop: EventLoop,
    observer: any KeyObserver
  ) {
    self.vault = vault
    self.session = session
    self.service = service
    self.upkeep = upkeep
    self.loop = loop
    self.observer = observer
  }

  /// Registers the messages of the control socket that this type answers.
  func serve(in table: inout ControlTable) {
    // A helper that asks for a secret still works on a password.
    table.answerLater(DeviceSecretRequest.self, keepsDeriving: true) { [unowned self] message, peer, answer in
      answerWithSecret(message, for: peer, answer)
    }
    table.answerLater(DestroyPasscodeItems.self) { [unowned self] message, _, answer in
      destroyPasscodeItems(
        passwordRemoved: message.passwordRemoved, until: Process.now + Self.destructionTime, answer)
    }
  }

  /// Looks at the vault's files again. A new database is walked through, because answers wait for the walk.
  func refresh() {
    vault.refresh()
    if !vault.isVerified { upkeep.goOn() }
    followPassword()
  }

  /// Forgets the former vault: now there is another vault, or no vault.
  func forgetProblem() { problem = nil }

  /// Follows the keybag: a vault without a password opens by itself and is never locked. Once the keybag has a password, the
  /// sessions decide again.
  func followPassword() {
    guard let watch = session.watch, vault.hasKeybag else { return }
    guard vault.isPasswordless else {
      if watch.machine.isPasswordless { watch.passwordless(false) }
      return
    }
    guard !watch.machine.isPasswordless, Process.now >= nextTry else { return }
    // A device key service that does not answer must not hold up every request, so tries have a distance.
    nextTry = Process.now + 5000
    do throws(VaultError) {
      try vault.openByDevice()
      (problem, nextTry) = (nil, 0)
      watch.passwordless(true)
      observer.keysCame()
    } catch {
      // There may be many tries, so each reason is logged once.
      guard problem != error.explanation else { return }
      problem = error.explanation
      Journal.log(.error, "the vault cannot be unlocked without a password: \(error.explanation)")
    }
  }

  /// Asks a device key service again that was not quick enough, and then does the work that needs it.
  func meet() {
    guard vault.waitsForDevice else { return }
    service.ask { [weak self] in
      guard let self, !service.isSilent, vault.waitsForDevice else { return }
      service.forgetBreakingOff()
      do throws(VaultError) { try vault.meetDevice() } catch {
        return Journal.log(.error, "secrets that are bound to this device cannot be read: \(error.explanation)")
      }
      upkeep.goOn()
      upkeep.tellDestroyed()
      observer.stateChanged()
      guard service.wasBrokenOff, vault.waitsForDevice else {
        meetingDelay = DeviceOpening.shortestMeetingDelay
        return
      }
      // The loop has other work first, which may be a lock. If that happens again, the next tries come less and less often.
      meeting = try? loop.addTimer(after: meetingDelay) { [weak self] in self?.meet() }
      meetingDelay = min(meetingDelay * 2, VaultUpkeep.settleTime)
    }
  }

  /// Opens collections that need no answer of a person.
  func openWithoutAsking(_ question: Question, lifting: Set<Int64>) {
    guard question == .login, session.machine.isPasswordless, !lifting.isEmpty else { return }
    do throws(VaultError) {
      try vault.openByDevice(liftingLocksOf: lifting)
      observer.keysCame()
    } catch {
      Journal.log(.error, "a collection cannot be unlocked: \(error.explanation)")
      // The failure has erased the keys. Clients will hear of the next unlock.
      if !vault.isUnlocked { observer.keysDidNotOpen() }
    }
  }

  private typealias SecretAnswer = (Result<SealedDeviceSecret, Refusal>) -> Void

  private func answerWithSecret(
    _ request: DeviceSecretRequest, for peer: ControlPeer, _ answer: @escaping SecretAnswer
  ) {
    vault.refresh()
    let creates = !vault.hasKeybag
    let deadline = Process.now + (creates ? Self.creationTime : 0)
    trySecret(request, for: peer, until: deadline, delay: Self.shortestMeetingDelay) { result in
      if creates, case .failure(let refusal) = result {
        Journal.log(.error, "the vault of a login without a password cannot be created: \(refusal.reason.text)")
      }
      answer(result)
    }
  }

  /// Waits for the service before the question, because the service must be started in most cases. At a login there is much other
  /// work, which would break off a request to a service that is still starting.
  ///
  /// - Parameter wait: the number of the helper that waits; nil at its first try.
  private func trySecret(
    _ request: DeviceSecretRequest, for peer: ControlPeer, until deadline: Int, delay: Duration, wait: UInt64? = nil,
    _ answer: @escaping SecretAnswer
  ) {
    service.ask { [weak self, weak peer] in
      guard let self else { return answer(.failure(Refusal(.session(.daemonEnds)))) }
      service.forgetBreakingOff()
      let result: Result<SealedDeviceSecret, Refusal>
      do throws(Refusal) { result = .success(try secret(request)) } catch { result = .failure(error) }
      guard case .failure = result, service.isSilent || service.wasBrokenOff, Process.now < deadline,
        wait != nil || waits.count < Self.waitLimit
      else {
        if let wait { waits[wait] = nil }
        return answer(result)
      }
      if wait == nil { nextWait += 1 }
      let number = wait ?? nextWait
      waits[number] = try? loop.addTimer(after: delay) { [weak self, weak peer] in
        guard let self else { return answer(result) }
        // The helper has ended, so another helper may wait.
        guard let peer, !peer.hasGone else {
          waits[number] = nil
          return answer(result)
        }
        let next = min(delay * 2, Self.longestSecretDelay)
        trySecret(request, for: peer, until: deadline, delay: next, wait: number, answer)
      }
      if waits[number] == nil { answer(result) }
    }
  }

  private func secret(_ request: DeviceSecretRequest) throws(Refusal) -> SealedDeviceSecret {
    vault.refresh()
    let secret = try Refusal.vault { () throws(VaultError) -> DeviceSecret in
      switch request.wanted {
      case .present: return try vault.device.presentSecret()
      case .new(let vault, let protector): return try self.vault.device.newSecret(vault: vault, protector: protector)
      }
    }
    do throws(SodiumError) { return try SealedDeviceSecret(secret, to: request.publicKey) } catch {
      throw Refusal(.because(.refusal(.cannotSeal), .verbatim("\(error)")))
    }
  }

  /// Destroys the items. If other work came first, perhaps a lock, it tries again, because no other code would.
  private func destroyPasscodeItems(
    passwordRemoved: Bool, until deadline: Int, _ answer: @escaping (Result<UInt64, Refusal>) -> Void
  ) {
    service.forgetBreakingOff()
    do throws(Refusal) { answer(.success(try destroyPasscodeItems(passwordRemoved: passwordRemoved))) } catch {
      nextWait += 1
      let number = nextWait
      if service.wasBrokenOff, Process.now < deadline {
        destructions[number] = try? loop.addTimer(after: Self.shortestMeetingDelay) { [weak self] in
          guard let self else { return answer(.failure(error)) }
          destructions[number] = nil
          destroyPasscodeItems(passwordRemoved: passwordRemoved, until: deadline, answer)
        }
      }
      guard destructions[number] == nil else { return }
      Journal.log(.error, "the when-passcode-set items cannot be destroyed: \(error.reason.text)")
      answer(.failure(error))
    }
  }

  private func destroyPasscodeItems(passwordRemoved: Bool) throws(Refusal) -> UInt64 {
    refresh()
    do throws(VaultError) {
      // Without this question every login would search for items that are destroyed already.
      if vault.passcode.mayHaveItems { try vault.passcode.destroyItems() }
      if !passwordRemoved { try vault.startPasscodeItemsAnew() }
    } catch {
      upkeep.tellDestroyed()
      throw Refusal(error.reason)
    }
    return UInt64(upkeep.tellDestroyed())
  }
}
