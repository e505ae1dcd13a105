import Glibc
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeyReasons
import LatchkeySessionState
import LatchkeySystemd
import LatchkeyVault

/// Keys that arrived and are on their way to the vault, or wait for the locker to go; erased with the last reference.
private final class ArrivedKeys {
  let tiers: TierKeys
  let former: [FormerTiers]
  let created: Bool
  /// Whether explicit locks of collections end.
  let liftsLocks: Bool
  /// The collections whose explicit locks end; nil for all.
  let lockedExplicitly: Set<Int64>?
  /// The time at which the keys' password was given. The keys may wait, and a collection or item that is locked meanwhile stays
  /// locked.
  let given: UInt64
  /// Whether a finger brought the keys back, and no password.
  let isOfFinger: Bool

  init(
    _ delivery: consuming TierDelivery, given: UInt64, liftsLocks: Bool, of lockedExplicitly: Set<Int64>?,
    isOfFinger: Bool = false
  ) {
    self.given = given
    self.isOfFinger = isOfFinger
    created = delivery.created
    former = delivery.former
    tiers = delivery.takeTiers()
    self.liftsLocks = liftsLocks
    self.lockedExplicitly = lockedExplicitly
  }
}

/// Decides whether the keys of a login, a locker or a prompt are wanted, and what they unlock.
final class VaultOpening {
  let vault: Vault
  let session: SessionReference
  let deviceService: DeviceServiceProbe
  let device: DeviceOpening
  private let password: LoginPassword
  private let queue: PromptQueue
  private let upkeep: VaultUpkeep
  private let hold: LoginHold
  private let finger: FingerHold
  unowned let observer: any KeyObserver
  /// Keys that wait until the locker has left the screen.
  private var staged: ArrivedKeys?
  /// Keys that a finger opened, while logind is asked about the touch.
  private var touched: ArrivedKeys?
  /// The prompt that waits for a finger.
  private var touchingPrompt: UInt64?
  /// The reason why the last keys did not open the vault; nil once keys have opened it.
  private(set) var failure: VaultError?
  /// Whether the program was told to end. An ending daemon takes no key.
  private(set) var isEnding = false

  init(
    _ vault: Vault, session: SessionReference, deviceService: DeviceServiceProbe, device: DeviceOpening,
    password: LoginPassword, queue: PromptQueue, upkeep: VaultUpkeep, hold: LoginHold, finger: FingerHold,
    observer: any KeyObserver
  ) {
    self.hold = hold
    self.finger = finger
    self.vault = vault
    self.session = session
    self.deviceService = deviceService
    self.device = device
    self.password = password
    self.queue = queue
    self.upkeep = upkeep
    self.observer = observer
    finger.opened = { [unowned self] in reopen($0, at: $1) }
  }

  /// Registers the messages of the control socket that this type answers.
  func serve(in table: inout ControlTable) {
    table.answerLater(Hello.self) { [unowned self] message, peer, answer in
      (peer.greeting, peer.claim) = (message, nil)
      hello(message, from: peer.credentials) { [weak peer, session, hold] need, claim in
        peer?.claim = claim
        if need == .keys, let peer {
          peer.beginsDeriving()
          // The session's first program may ask before the keys have come.
          if message.stage == .openSession, session.lacksPasswordKeys { hold.begin(peer) }
        }
        answer(.success(need))
      }
    }
    table.takeKeys(UnlockWithTiers.self) { [unowned self] message, peer, answer in
      guard let greeting = peer.greeting else { return peer.end() }
      unlock(message.take(), greeting, by: peer.claim, from: peer.credentials, answer: answer)
    }
    table.takeKeys(SessionDelivery.self) { [unowned self] message, peer, answer in
      guard let greeting = peer.greeting else { return peer.end() }
      unlock(message, greeting, by: peer.claim, from: peer.credentials, answer: answer)
    }
    table.answerLater(TouchReader.self) { [unowned self] message, peer, answer in
      touch(forPrompt: message.prompt, from: peer, answer: answer)
    }
    serveRotation(in: &table)
  }

  /// Whether a helper in the process `peer` may work on a password without bringing keys for an authentication.
  func mayDerive(from peer: LocalSocket.Peer, answer: @escaping (Result<Claim, Refusal>) -> Void) {
    guard let watch = session.watch, !isEnding else {
      return answer(.failure(Refusal(.session(isEnding ? .daemonEnds : .daemonStarts))))
    }
    watch.claim(by: PeerProcess.of(pid: peer.pid), mayLift: false) { [session] claim in
      // As with a login, no work is done for unwanted keys, least of all while nothing holds up sleep.
      if let reason = session.machine.refusal(of: claim) { return answer(.failure(Refusal(reason))) }
      answer(.success(claim))
    }
  }

  /// Refuses all keys from now on.
  func stop() {
    isEnding = true
    eraseStagedKeys()
    finger.drop()
  }

  func eraseStagedKeys() { (staged, touched) = (nil, nil) }

  /// Erases the keys of a touch that is not decided yet.
  func eraseTouchedKeys() { touched = nil }

  /// Makes the staged keys live.
  func stagedKeysGoLive() {
    guard let keys = staged else { return }
    staged = nil
    do throws(VaultError) { try open(keys, .everything) } catch {
      Journal.log(.error, "the vault cannot be unlocked: \(error.explanation)")
      failure = error
      observer.keysDidNotOpen()
    }
  }

  private func hello(_ hello: Hello, from peer: LocalSocket.Peer, answer: @escaping (Need, Claim?) -> Void) {
    device.refresh()
    switch decide(hello, peer) {
    // A refused authentication counts neither as the beginning nor as the end of a session.
    case .refused(let reason): return answer(.refused(reason), nil)
    case .nothing: answer(.nothing, nil)
    case .keys(let mayLift):
      session.watch?.claim(by: PeerProcess.of(pid: peer.pid), mayLift: mayLift, given: hello.given) {
        [session] claim in
        if claim.isLate { return answer(.late, nil) }
        // No work is done for keys that will be refused, least of all when nothing holds up sleep any more.
        if let reason = session.machine.refusal(of: claim) { return answer(.refused(reason), nil) }
        answer(.keys, claim)
      }
      // The device key service starts while the helper derives the keys.
      deviceService.ask {}
    }
    switch hello.stage {
    case .authenticate: break
    case .openSession: session.watch?.pamSessionOpened(given: hello.given)
    case .closeSession:
      session.watch?.pamSessionClosed()
      // After the last logout, the next login shows the notification again.
      if session.machine.pamSessions == 0 { password.notice.forget() }
    }
  }

  func decide(_ hello: Hello, _ peer: LocalSocket.Peer) -> AuthenticationPolicy.Decision {
    guard let watch = session.watch else { return .refused(.session(.daemonStarts)) }
    return watch.decide(hello, from: PeerProcess.of(pid: peer.pid), needs: needs)
  }

  private var needs: KeyNeeds {
    var needs = KeyNeeds()
    needs.hasUnprovenPassword = vault.keybag?.protectors.contains { $0.state == .unproven } ?? false
    let epochs = vault.keybag?.epochs ?? []
    needs.hasSpareEpoch = epochs.count > 1 && vault.rotation.neededEpoch == epochs.last?.number
    needs.needsFormerPassword = password.needsFormer
    needs.hasOwnLocks = vault.collections.hasOwnLocks
    return needs
  }

  private func unlock(
    _ delivery: consuming TierDelivery, _ hello: Hello, by claim: Claim?, from peer: LocalSocket.Peer,
    answer: @escaping (UnlockOutcome) -> Void
  ) {
    device.refresh()
    do {
      guard try vault.recognises(delivery.tiers, former: delivery.former) else {
        Journal.log(.warning, "the keys from \(hello.service) belong to another vault")
        return answer(.wrongKeys)
      }
    } catch { return answer(.unusable(error.reason)) }
    password.noteMemory(of: delivery)
    do { try vault.check(delivery.tiers, former: delivery.former, mayCreate: delivery.created) } catch {
      Journal.log(.error, "the vault cannot be unlocked: \(error.explanation)")
      return answer(.unusable(error.reason))
    }
    guard !isEnding else { return answer(.refused(.session(.daemonEnds))) }
    guard let claim, let watch = session.watch, case .keys(let mayLift) = decide(hello, peer) else {
      return answer(.refused(.session(.notNow)))
    }
    // Minutes may have passed. If the process's session has ended, it belongs to no login any more.
    guard PeerProcess.of(pid: peer.pid) == claim.process else { return answer(.refused(.session(.sessionEnded))) }
    // An answer to a prompt unlocks what the prompt named. A login, or `latchkey unlock`, unlocks everything. An explicit lock that
    // is later than the password stays.
    let keys = ArrivedKeys(
      delivery, given: claim.given, liftsLocks: AuthenticationPolicy.liftsOwnLocks(hello),
      of: hello.prompt == 0 ? nil : queue.lifting(prompt: hello.prompt) ?? [])
    watch.keysArrived(mayLift: mayLift, by: claim, after: deviceService.ask) { [weak self] outcome in
      guard let self, !isEnding else { return answer(.refused(.session(.daemonEnds))) }
      answer(install(keys, outcome))
    }
  }

  private func install(_ keys: ArrivedKeys, _ outcome: KeyOutcome) -> UnlockOutcome {
    do throws(VaultError) {
      switch outcome {
      case .notNeeded:
        if keys.liftsLocks { try open(keys, .everything) }
        return .live
      case .refused(let reason): return .refused(reason)
      case .live:
        try open(keys, .everything)
        return .live
      case .staged:
        try open(keys, .session)
        staged = keys
        return .staged
      case .firstUnlockOnly:
        try open(keys, .session)
        return .live
      }
    } catch {
      Journal.log(.error, "the vault cannot be unlocked: \(error.explanation)")
      failure = error
      observer.keysDidNotOpen()
      return .unusable(error.reason)
    }
  }

  private func open(_ keys: ArrivedKeys, _ opening: Vault.Opening) throws(VaultError) {
    try vault.unlock(
      keys.tiers, former: keys.former, opening: opening,
      liftingLocks: keys.liftsLocks && vault.collections.latestOwnLock < keys.given, of: keys.lockedExplicitly,
      mayCreate: keys.created)
    failure = nil
    // A finger says nothing about the password.
    if !keys.isOfFinger {
      password.forget()
      if opening == .everything { finger.cover(keys.tiers, keys.former) }
    }
    observer.keysCame()
  }

  /// Takes the keys that a finger at the locked screen opened again. They need the same checks as a password's keys, because the
  /// files may have been replaced behind the lock.
  ///
  /// - Parameter moment: when the device key service released the keys, in microseconds since the machine started. The locker may
  ///   go before this program hears of either.
  private func reopen(_ opened: consuming CoveredTiers.Opened, at moment: UInt64) {
    guard let delivery = checked(opened), let watch = session.watch else { return }
    let keys = ArrivedKeys(delivery, given: moment, liftsLocks: false, of: nil, isOfFinger: true)
    touched = keys
    watch.claim(by: .unknown, given: moment, isOfFinger: true) { [weak self, weak keys, deviceService] claim in
      guard let keys, let self, takesTouched(keys) else { return }
      watch.fingerKeysArrived(by: claim, after: deviceService.ask) { [weak self] outcome in
        guard let self, !self.isEnding else { return }
        switch self.install(keys, outcome) {
        case .staged: Journal.log(.notice, "a finger unlocks the vault when the screen locker is gone")
        case .refused(let reason): Journal.log(.notice, "a finger does not unlock the vault: \(reason.text)")
        case .live, .wrongKeys, .unusable: break
        }
      }
    }
  }

  /// Keys that a finger opened again; nil if they do not belong to the vault's files. Then the hold ends.
  private func checked(_ opened: consuming CoveredTiers.Opened) -> TierDelivery? {
    device.refresh()
    finger.follow()
    guard finger.isHeld, let keybag = vault.keybag, !isEnding else { return nil }
    // The keybag may have dropped former keys since they were covered, because a change of keys has ended.
    let present = Set(keybag.epochs.map(\.number))
    let former = opened.former.filter { present.contains($0.number) }
    let tiers = opened.takeTiers()
    guard let problem = problem(of: tiers, former: former) else {
      return TierDelivery(
        vault: keybag.vault, generation: keybag.generation, created: false, tiers: tiers, former: former)
    }
    finger.refused(problem)
    return nil
  }

  private func problem(of tiers: borrowing TierKeys, former: [FormerTiers]) -> Reason? {
    do {
      guard try vault.recognises(tiers, former: former) else { return .keybag(.otherKeys) }
    } catch { return error.reason }
    do { try vault.check(tiers, former: former, mayCreate: false) } catch { return error.reason }
    return nil
  }

  /// Takes the keys of a touch, unless a lock has erased them, or a later touch has brought other keys.
  private func takesTouched(_ keys: ArrivedKeys) -> Bool {
    guard touched === keys else { return false }
    touched = nil
    return true
  }

  // MARK: - a finger at a prompt

  /// Lets the reader verify a finger for a prompt that unlocks the vault. Behind a locker nobody could see the purpose of the
  /// touch, and the finger belongs to the locker.
  private func touch(
    forPrompt number: UInt64, from peer: ControlPeer, answer: @escaping (Result<Done, Refusal>) -> Void
  ) {
    device.refresh()
    finger.follow()
    let shower = queue.connection(ofPrompt: number) as? ControlPeer
    guard queue.question(ofPrompt: number) == .login, shower?.credentials.pid == peer.credentials.pid else {
      return answer(.failure(Refusal(.refusal(.noSuchPrompt))))
    }
    guard !isEnding, touchingPrompt == nil, session.machine.mayUnlockByFinger else {
      return answer(.failure(Refusal(.session(.notNow))))
    }
    guard !queue.isAway(prompt: number) else { return Self.refuse(.device(.awayFromSeat), answer) }
    touchingPrompt = number
    finger.touch { [weak self] opened, moment in
      self?.unlock(opened, at: moment, forPrompt: number, answer: answer)
    } failed: { [weak self] reason in
      self?.touchingPrompt = nil
      Self.refuse(reason, answer)
    }
  }

  private static func refuse(_ reason: Reason, _ answer: (Result<Done, Refusal>) -> Void) {
    Journal.log(.notice, "a finger did not unlock the vault at a prompt: \(reason.text)")
    answer(.failure(Refusal(reason)))
  }

  /// Gives up the reader if its prompt has ended, or if the vault waits for no finger any more.
  func followTouch() {
    guard let prompt = touchingPrompt, queue.question(ofPrompt: prompt) == nil || !session.machine.mayUnlockByFinger
    else { return }
    finger.leave()
  }

  /// Gives up the reader at a lock, even if the vault was locked before, because a finger now belongs to the locker.
  func leaveTouch() {
    if touchingPrompt != nil { finger.leave() }
  }

  private func unlock(
    _ opened: consuming CoveredTiers.Opened, at moment: UInt64, forPrompt number: UInt64,
    answer: @escaping (Result<Done, Refusal>) -> Void
  ) {
    touchingPrompt = nil
    let refuse = { (reason: Reason) in Self.refuse(reason, answer) }
    guard let delivery = checked(opened), let watch = session.watch else {
      return refuse(finger.problem ?? .session(.notNow))
    }
    // As an answer of the prompt, it lifts the explicit locks that the prompt named.
    let keys = ArrivedKeys(
      delivery, given: moment, liftsLocks: true, of: queue.lifting(prompt: number) ?? [], isOfFinger: true)
    touched = keys
    watch.claim(by: .unknown, given: moment, isOfFinger: true) { [weak self, weak keys, deviceService] claim in
      guard let keys, let self, takesTouched(keys) else { return refuse(.session(.lockedMeanwhile)) }
      watch.promptsFingerKeysArrived(by: claim, after: deviceService.ask) { [weak self] outcome in
        guard let self, !self.isEnding else { return refuse(.session(.daemonEnds)) }
        guard self.queue.question(ofPrompt: number) != nil else { return refuse(.refusal(.noSuchPrompt)) }
        switch self.install(keys, outcome) {
        case .live:
          Journal.log(.notice, "a finger unlocked the vault at a prompt")
          answer(.success(Done()))
        case .refused(let reason), .unusable(let reason): refuse(reason)
        case .staged, .wrongKeys: refuse(.session(.notNow))
        }
      }
    }
  }

  private func serveRotation(in table: inout ControlTable) {
    table.answerHelper(CheckMayRotate.self) { [unowned self] _ throws(Refusal) in
      try checkTakesNewKeys()
      return Done()
    }
    table.answerHelper(CheckMayDerive.self) { _ in Done() }
    table.takeKeys(Rotate.self) { [unowned self] message, _, answer in answer(rotate(message.take())) }
    table.answer(GetNeededEpoch.self) { [unowned self] _, _ throws(Refusal) in
      guard vault.hasDatabase, session.state != .sealed else { throw Refusal(.refusal(.vaultLocked)) }
      return vault.rotation.neededEpoch
    }
  }

  private func checkTakesNewKeys() throws(Refusal) {
    guard !isEnding else { throw Refusal(.session(.daemonEnds)) }
    guard session.state == .unlocked else { throw Refusal(.refusal(.vaultIsLocked)) }
    do throws(VaultError) { try vault.rotation.checkMayBegin() } catch { throw Refusal(error.reason) }
  }

  /// Takes the new keys that the helper has written into the keybag.
  private func rotate(_ delivery: consuming TierDelivery) -> UnlockOutcome {
    // The keybag has its first password now. The vault stays unlocked, and can be locked from now on.
    device.refresh()
    do {
      guard try vault.recognises(delivery.tiers, former: delivery.former) else { return .wrongKeys }
    } catch { return .unusable(error.reason) }
    password.noteMemory(of: delivery)
    // The vault may have been locked since the helper asked. In that case, the next unlock brings the same keys.
    do throws(Refusal) { try checkTakesNewKeys() } catch { return .refused(error.reason) }
    do throws(VaultError) {
      try vault.check(delivery.tiers, former: delivery.former, mayCreate: false)
      try vault.unlock(
        delivery.tiers, former: delivery.former, opening: .everything, liftingLocks: false, mayCreate: false)
    } catch {
      Journal.log(.error, "the keys cannot be changed: \(error.explanation)")
      observer.keysDidNotOpen()
      return .unusable(error.reason)
    }
    password.rotated()
    finger.cover(delivery.tiers, delivery.former)
    upkeep.goOn()
    // New keys do not bring items back whose erasable secret another program has erased.
    upkeep.tellDestroyed()
    device.meet()
    return .live
  }
}
