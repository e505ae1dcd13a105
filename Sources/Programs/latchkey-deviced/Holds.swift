import Glibc
import LatchkeyDeviceService
import LatchkeyDeviceStore
import LatchkeyFingerReaders
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium
import LatchkeySystemd

/// The covering keys of all users, and the fingers that release them. docs/developer/finger.md has the states and every end.
///
/// A key goes to the connection that brought it and to no other. This process itself has the finger verified and then releases the
/// key, so it believes no other program's report. A touch takes half a minute, and delays no other user.
final class Holds {
  /// The end of a request for a verification.
  enum Beginning {
    case begun
    case isVerifying
    case notHeld(HoldEnd?)
  }

  private let loop: EventLoop
  private let accounts: Accounts
  private let chip: (any SecretHolder)?
  private let prints: String
  private let policy: FingerPolicy
  private let clock = ContinuousClock()
  private lazy var sleep = Sleep(loop: loop) { [unowned self] in goToSleep(ready: $0) }
  private var holds: [uid_t: Hold] = [:]
  /// Why a user's last key is gone.
  private var ends: [uid_t: HoldEnd] = [:]
  private var timer: EventSource?
  /// Verifications that are giving their reader back, and their users. A verification is removed when fprintd has the reader.
  private var ending: [ObjectIdentifier: (verification: FingerVerification, user: uid_t)] = [:]
  /// The sleep that waits for readers.
  private var awaitedSleep: AwaitedSleep?
  /// How much of a chip's time each user may use with new keys.
  private var shares: [uid_t: TimeShare] = [:]

  /// A sleep that waits until the readers are free.
  private struct AwaitedSleep {
    var readers: Set<ObjectIdentifier>
    let ready: () -> Void
  }

  /// If more users than this have ends, the service forgets all of them.
  private static let endLimit = 1024
  /// A locker's verification ends after so many fingers that do not match, as with pam_fprintd.
  private static let tryLimit = 3
  /// A new key uses up at least this much of a user's time, even if it took less, because a program can send many keys.
  private static let leastCost = Duration.milliseconds(50)
  /// After a slow chip, a user's next key waits for this time at most.
  private static let longestPause = Duration.seconds(60)
  /// If more users than this have shares, the service drops unused shares.
  private static let shareLimit = 256
  /// The interval of the search for expired keys.
  private static let checkTime = Duration.seconds(60)

  init(loop: EventLoop, accounts: Accounts, chip: (any SecretHolder)?, prints: String, policy: FingerPolicy) {
    (self.loop, self.accounts, self.chip, self.prints, self.policy) = (loop, accounts, chip, prints, policy)
  }

  private func hash(of name: String) -> [UInt8]? { EnrolledPrints.hash(of: name, in: prints) }

  /// Takes a key, which replaces an earlier key of that user.
  ///
  /// - Returns: where the key is.
  func hold(
    _ key: borrowing Key, to publicKey: [UInt8], isMemoryAllowed: Bool, for peer: DevicePeer
  ) throws(DeviceKeyError) -> HoldPacket.State {
    // The former key ends in any case, because the user has given a password since.
    if let former = holds[peer.user] { end(former, .replaced) }
    guard !policy.isForbidding else {
      note(.forbidden, of: peer.user)
      throw .unavailable(.device(.fingerForbidden))
    }
    try checkShare(of: peer.user)
    let start = clock.now
    defer { charge(peer.user, since: start) }
    guard let name = accounts.name(of: peer.user) else { throw .unavailable(.device(.unexplained)) }
    guard let hash = hash(of: name) else { throw .unavailable(.device(.noPrints)) }
    guard chip != nil || isMemoryAllowed else { throw .unavailable(.device(.noTPM)) }
    let covering: CoveringKey
    do throws(DeviceKeyError) {
      covering = try CoveringKey(key, to: publicKey, in: chip, prints: hash, at: clock.now)
    } catch {
      guard isMemoryAllowed, chip != nil else { throw error }
      let reason = if case .unavailable(let reason) = error { reason } else { Reason.device(.otherDevice) }
      let what = "the key that a finger of user \(peer.user) releases"
      Journal.log(.warning, "\(what) is in memory, because of the TPM: \(reason.text)")
      covering = try CoveringKey(key, to: publicKey, in: nil, prints: hash, at: clock.now)
    }
    let hold = Hold(covering, of: peer.user, name: name, holder: peer)
    holds[peer.user] = hold
    ends[peer.user] = nil
    sleep.listen()
    if timer == nil {
      timer = try? loop.addTimer(after: Self.checkTime, repeating: true) { [unowned self] in endExpired() }
    }
    return hold.state
  }

  /// Throws if the user's keys have used up the user's share of the chip's time. A chip is slow, and a user's programs may send any
  /// number of keys.
  private func checkShare(of user: uid_t) throws(DeviceKeyError) {
    guard user != 0, let share = shares[user], share.pause(at: clock.now) > .zero else { return }
    throw .unavailable(.device(.manyHolds))
  }

  private func charge(_ user: uid_t, since start: ContinuousClock.Instant) {
    var share = shares[user] ?? TimeShare(longestPause: Self.longestPause, at: start)
    share.take(max(start.duration(to: clock.now), Self.leastCost), at: clock.now)
    if shares.count >= Self.shareLimit { shares = shares.filter { !$0.value.isWhole(at: clock.now) } }
    shares[user] = share
  }

  /// Whether a key of that user is held.
  func held(of user: uid_t) -> HoldPacket.Held {
    guard let hold = holds[user] else { return HoldPacket.Held(.nothing, touchesLeft: 0, end: ends[user]) }
    if let found = endNow(of: hold) {
      end(hold, found)
      return HoldPacket.Held(.nothing, touchesLeft: 0, end: found)
    }
    return HoldPacket.Held(hold.state, touchesLeft: UInt8(clamping: hold.key.touchesLeft), end: nil)
  }

  /// Why a key may no longer be released; nil if it may be.
  private func endNow(of hold: Hold) -> HoldEnd? {
    if let found = endByMachine(of: hold) { return found }
    do throws(HoldEnd) { try hold.key.check(prints: hash(of: hold.name), at: clock.now) } catch { return error }
    return nil
  }

  /// Why policy or sleep forbids the release of a key; nil if both allow it. The prints are read separately, because that is slow.
  private func endByMachine(of hold: Hold) -> HoldEnd? {
    policy.isForbidding ? .forbidden : hold.key.isInMemory && hold.hasSlept ? .slept : nil
  }

  /// Has fprintd verify a finger of that user for a locker. `peer` receives every word about it.
  func verify(_ user: uid_t, for peer: DevicePeer) -> Beginning {
    guard let hold = holds[user] else { return .notHeld(ends[user]) }
    if let awaited = hold.awaited {
      // A locker takes the reader from a prompt, because the locked screen hides the prompt anyway.
      guard let touch = awaited.touch else { return .isVerifying }
      cancel(hold)
      say(.givenUp, ofTouch: touch, to: hold)
    }
    if let found = endNow(of: hold) {
      end(hold, found)
      return .notHeld(found)
    }
    begin(hold, tries: min(Self.tryLimit, hold.key.touchesLeft), for: peer)
    return .begun
  }

  /// Has a finger verified for the holder of a key, which shows a prompt. fprintd lets nobody verify a finger who is not in front
  /// of this machine. This service could, so it checks that the user is at a seat. There is one try: the prompt tells the result.
  ///
  /// - Returns: ``HoldPacket/Word/place`` if the verification has begun; otherwise the reason why it has not.
  func touch(_ number: UInt32, for peer: DevicePeer) -> HoldPacket.Word {
    guard let hold = holds[peer.user], hold.holder === peer else { return .notHeld }
    guard hold.awaited == nil else { return .noReader }
    // The watch begins first, so that it misses nothing.
    let seat = try? LoginMonitor(of: .users, loop: loop) { [weak self, weak hold] in
      if let self, let hold { seatsChanged(for: hold) }
    }
    guard let seat, LoginSession.isAtSeat(peer.user) else { return .away }
    if let found = endNow(of: hold) {
      end(hold, found)
      return .notHeld
    }
    begin(hold, tries: 1, for: peer, touch: number, at: seat)
    return .place
  }

  /// Gives the reader up if the user of a touch is not in front of a seat any more: the session ended, or another one came to the front.
  private func seatsChanged(for hold: Hold) {
    guard let touch = hold.awaited?.touch, !LoginSession.isAtSeat(hold.user) else { return }
    cancel(hold)
    say(.away, ofTouch: touch, to: hold)
  }

  /// Ends the verification for the holder's prompt, which no longer waits for a finger.
  func leave(_ peer: DevicePeer) {
    guard let hold = holds[peer.user], hold.holder === peer, hold.awaited?.touch != nil else { return }
    cancel(hold)
  }

  private func begin(
    _ hold: Hold, tries: Int, for peer: DevicePeer, touch: UInt32? = nil, at seat: LoginMonitor? = nil
  ) {
    let verification = FingerVerification(of: hold.name, tries: tries, loop: loop)
    hold.awaited = Hold.Awaited(verification: verification, peer: peer, touch: touch, seat: seat)
    startAwaited(of: hold.user)
  }

  /// Starts a waiting verification, if the same user's earlier verification has given the reader back.
  private func startAwaited(of user: uid_t) {
    guard let hold = holds[user], let verification = hold.awaited?.verification, hold.awaited?.hasStarted == false,
      !ending.values.contains(where: { $0.user == user })
    else { return }
    hold.awaited?.hasStarted = true
    verification.start { [weak self, weak hold] step in
      if let self, let hold { tell(step, of: hold) }
    } ended: { [weak self, weak hold, unowned verification] outcome in
      guard let self else { return }
      // A verification that was cancelled has no waiting peer any more. But a finger that did not match before that still counts as
      // a touch.
      if ending.removeValue(forKey: ObjectIdentifier(verification)) != nil {
        if case .refused = outcome, let hold { countTouch(of: hold) }
      } else if let hold, let awaited = hold.awaited, awaited.verification === verification {
        decide(outcome, of: hold, awaited)
      }
      readerIsBack(of: verification)
      startAwaited(of: user)
    }
  }

  private func countTouch(of hold: Hold) {
    hold.key.countTouch()
    if hold.key.touchesLeft == 0 { end(hold, .manyTouches) }
  }

  private func tell(_ step: FingerVerification.Step, of hold: Hold) {
    guard let awaited = hold.awaited, awaited.touch == nil else { return }
    let peer = awaited.peer
    switch step {
    case .place(let isSwipe): say(isSwipe ? .swipe : .place, to: peer)
    case .again: say(.again, to: peer)
    case .noMatch:
      hold.key.countTouch()
      say(.noMatch, to: peer)
    }
  }

  private func decide(_ outcome: FingerVerification.Outcome, of hold: Hold, _ awaited: Hold.Awaited) {
    hold.awaited = nil
    let touch = awaited.touch
    let word: HoldPacket.Word
    var lost: HoldEnd?
    switch outcome {
    // The match may come before the news of the seat, which is read here for that reason.
    case .matched where touch != nil && !LoginSession.isAtSeat(hold.user): word = .away
    case .matched(let moment):
      lost = release(hold, at: moment, forTouch: touch)
      if let lost { end(hold, lost) }
      word = lost == nil ? .matched : .notHeld
    case .refused:
      // No step reports the last touch, so it is counted here.
      countTouch(of: hold)
      word = touch == nil ? .manyTries : .noMatch
    case .givenUp: word = .givenUp
    // These outcomes concern the present readers only, so the key stays. The files show whether the prints have changed.
    case .noFingers, .busy, .unavailable: word = .noReader
    }
    guard let touch else { return close(awaited.peer, with: word, lost) }
    // The holder has already heard that its key was released or ended.
    if word != .matched, word != .notHeld { say(word, ofTouch: touch, to: hold) }
  }

  /// Sends the key to its holder.
  ///
  /// - Parameters:
  ///   - moment: the moment of the touch.
  ///   - touch: the number of the holder's own touch; nil for a touch at a locker.
  /// - Returns: why the key could not be released; nil if it was.
  private func release(_ hold: Hold, at moment: UInt64, forTouch touch: UInt32?) -> HoldEnd? {
    if let found = endByMachine(of: hold) { return found }
    do throws(HoldEnd) {
      let sealed = try hold.key.release(prints: hash(of: hold.name), at: clock.now)
      let news =
        touch.map { HoldPacket.News.answered(sealed, at: moment, touch: $0) } ?? .released(sealed, at: moment)
      guard let packet = try? DeviceReply.news(news), hold.holder.push(packet) else { return .dropped }
    } catch { return error }
    Journal.log(.notice, "a finger of user \(hold.user) released the key of the locked vault")
    return nil
  }

  private func say(_ word: HoldPacket.Word, _ why: HoldEnd? = nil, to peer: DevicePeer) {
    guard let packet = try? DeviceReply.word(word, why) else { return }
    _ = peer.push(packet)
  }

  /// Tells the holder a word about the touch of its own prompt.
  private func say(_ word: HoldPacket.Word, ofTouch touch: UInt32, to hold: Hold) {
    guard holds[hold.user] === hold, let packet = try? DeviceReply.news(.touch(word, touch)) else { return }
    _ = hold.holder.push(packet)
  }

  /// Sends the last word, and ends the connection.
  private func close(_ peer: DevicePeer, with word: HoldPacket.Word, _ why: HoldEnd? = nil) {
    say(word, why, to: peer)
    peer.finish()
  }

  /// Called when a connection has ended. Ends the connection's key, or its wait for a finger.
  func ended(_ peer: DevicePeer) {
    for hold in holds.values {
      if hold.holder === peer { end(hold, .dropped, isHolderGone: true) }
      if hold.awaited?.peer === peer { cancel(hold) }
    }
  }

  /// Cancels the awaited verification. It stays in `ending` until fprintd has the reader back.
  private func cancel(_ hold: Hold) {
    guard let awaited = hold.awaited else { return }
    hold.awaited = nil
    guard awaited.hasStarted else { return }
    ending[ObjectIdentifier(awaited.verification)] = (awaited.verification, hold.user)
    awaited.verification.cancel()
  }

  /// Erases a key, and tells every connection that the key concerns.
  private func end(_ hold: Hold, _ why: HoldEnd, isHolderGone: Bool = false) {
    guard holds[hold.user] === hold else { return }
    holds[hold.user] = nil
    note(why, of: hold.user)
    if let awaited = hold.awaited {
      cancel(hold)
      if awaited.touch == nil { close(awaited.peer, with: .notHeld, why) }
    }
    if !isHolderGone {
      if let packet = try? DeviceReply.news(.ended(why)) { _ = hold.holder.push(packet) }
      hold.holder.finish()
    }
    if why != .replaced, why != .dropped {
      Journal.log(.notice, "no finger of user \(hold.user) unlocks any more: \(why.reason.text)")
    }
    if holds.isEmpty {
      timer = nil
      // If a sleep still waits for a reader, the service keeps its delay lock.
      if awaitedSleep == nil { sleep.stop() }
    }
  }

  private func note(_ why: HoldEnd, of user: uid_t) {
    if ends.count >= Self.endLimit { ends = [:] }
    ends[user] = why
  }

  private func endExpired() {
    for hold in holds.values {
      if let found = endNow(of: hold) { end(hold, found) }
    }
  }

  /// Ends the keys in memory and gives all readers back before the machine sleeps. Keys end with every sleep, because logind
  /// announces hibernation like suspension.
  ///
  /// - Parameter ready: called when fprintd has all readers back. logind waits five seconds at most.
  private func goToSleep(ready: @escaping () -> Void) {
    // When the last reader is back, the machine may sleep at once. So this object counts as a reader until all keys have ended.
    let own = ObjectIdentifier(self)
    for hold in holds.values {
      guard let awaited = hold.awaited, !awaited.hasStarted else { continue }
      decide(.givenUp, of: hold, awaited)
    }
    let waiting = holds.values.compactMap { $0.awaited?.verification } + ending.values.map(\.verification)
    awaitedSleep = AwaitedSleep(readers: Set(waiting.map(ObjectIdentifier.init) + [own]), ready: ready)
    for hold in holds.values where hold.key.isInMemory { end(hold, .slept) }
    for hold in holds.values { hold.awaited?.verification.cancel() }
    awaitedSleep?.readers.remove(own)
    readerIsBack(of: nil)
  }

  private func readerIsBack(of verification: FingerVerification?) {
    guard var sleep = awaitedSleep else { return }
    if let verification { sleep.readers.remove(ObjectIdentifier(verification)) }
    awaitedSleep = sleep.readers.isEmpty ? nil : sleep
    guard awaitedSleep == nil else { return }
    sleep.ready()
    if holds.isEmpty { self.sleep.stop() }
  }
}
