import Glibc
import LatchkeyControl
import LatchkeyDeviceService
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// The tier keys that a finger opens again behind the lock, and the connection on which their covering key comes back.
///
/// Only the connection that handed the covering key over brings it back, and only from a service of root's. The hand-over is
/// asynchronous: no unlock waits for it. docs/developer/finger.md has every end.
final class FingerHold {
  /// The keys under the covering key, and the facts of the keybag that must stay as they are.
  private final class Covered {
    let tiers: CoveredTiers
    let ways: Set<[UInt8]>

    init(_ tiers: consuming CoveredTiers, ways: Set<[UInt8]>) {
      self.tiers = tiers
      self.ways = ways
    }
  }

  /// The hand-over, until the service has answered.
  private final class HandOver {
    let key: HandedKey
    var retry: EventSource?
    var deadline: EventSource?

    init(_ key: consuming HandedKey) { self.key = key }
  }

  /// A connection to the service.
  private final class Link {
    let socket: LocalSocket
    /// Whether the covering key went over this connection. Before that, the service makes a key to which it is sealed.
    var hasCoveringKey = false
    var source: EventSource?

    init(_ socket: consuming LocalSocket) { self.socket = socket }

    func send(_ packet: borrowing SecureBytes) throws(PosixError) { try socket.send(packet.bytes) }
  }

  /// A finger that is awaited for a prompt.
  private struct Touch {
    let number: UInt32
    let opened: (consuming CoveredTiers.Opened, UInt64) -> Void
    let failed: (Reason) -> Void
  }

  private enum State {
    case none
    case handsOver(HandOver, Link?, Covered)
    case held(HoldPacket.State, Link, Covered)
  }

  private let vault: Vault
  private let loop: EventLoop
  private let path: String
  private var state = State.none
  private var awaited: Touch?
  private var touches: UInt32 = 0
  /// Why the last key is gone; nil if that needs no words.
  private(set) var problem: Reason?
  /// Takes the keys that a finger opened, and when that was: in microseconds since the machine started.
  var opened: (consuming CoveredTiers.Opened, UInt64) -> Void = { _, _ in }
  /// Hears that the service ended a hold.
  var ended: (HoldEnd) -> Void = { _ in }

  /// How long the service may take, a slow TPM included.
  private static let timeLimit = Duration.seconds(35)
  /// The time until the next try if the service has too many connections.
  private static let retryTime = Duration.milliseconds(100)

  init(_ vault: Vault, loop: EventLoop, path: String) { (self.vault, self.loop, self.path) = (vault, loop, path) }

  /// Whether a finger unlocks, for `latchkey status`.
  var status: Status.Finger {
    guard vault.keybag?.fingerProtector != nil else { return .notAdded }
    return switch state {
    case .none, .handsOver: .waitsForPassword
    case .held(.inTPM, _, _): .inTPM
    case .held: .inMemory
    }
  }

  /// Whether the device key service has the covering key.
  var isHeld: Bool { status.isHeld }

  /// The protectors whose end ends the hold: passwords, and the finger itself.
  private var ways: Set<[UInt8]>? {
    guard let keybag = vault.keybag, !keybag.isPasswordless, keybag.fingerProtector != nil else { return nil }
    return Set(keybag.protectors.filter { $0.kind == .password || $0.kind == .finger }.map(\.id))
  }

  /// Covers keys that a password has just brought, and hands the covering key over. Ends an earlier hold.
  func cover(_ tiers: borrowing TierKeys, _ former: [FormerTiers]) {
    drop()
    guard let ways, let keybag = vault.keybag, let protector = keybag.fingerProtector else { return }
    var handed: HandedKey?
    let covered: CoveredTiers
    do throws(SodiumError) {
      covered = try CoveredTiers(tiers, epoch: keybag.epoch.number, former: former, vault: keybag.vault) {
        (key, publicKey) throws(SodiumError) in
        handed = try HandedKey(copying: key, publicKey: publicKey, isMemoryAllowed: protector.mayBeInMemory)
      }
    } catch { return end(.device(.noMemory)) }
    guard let handed = handed.take() else { return }
    let handOver = HandOver(handed)
    handOver.deadline = try? loop.addTimer(after: Self.timeLimit) { [weak self] in self?.end(.device(.silent)) }
    state = .handsOver(handOver, nil, Covered(covered, ways: ways))
    send()
  }

  /// Ends the hold: the session ends, or other keys come.
  func drop() {
    state = .none
    problem = nil
    endTouch(.device(.holdDropped))
  }

  // MARK: - a prompt

  /// Has a finger verified for a prompt that is on the screen. One of the closures is called, once.
  ///
  /// - Parameter opened: takes the keys, and when the finger matched: in microseconds since the machine started.
  func touch(
    opened: @escaping (consuming CoveredTiers.Opened, UInt64) -> Void, failed: @escaping (Reason) -> Void
  ) {
    guard case .held(_, let link, _) = state else { return failed(problem ?? .device(.holdDropped)) }
    leave()
    touches &+= 1
    do {
      try link.send(try DevicePacket.touch(touches))
      awaited = Touch(number: touches, opened: opened, failed: failed)
    } catch { failed(.device(.silent)) }
  }

  /// The prompt waits for no finger any more: the reader is given up.
  func leave() {
    guard let touch = awaited else { return }
    // If the service does not take it, it has ended, and the reader is free.
    if case .held(_, let link, _) = state, let packet = try? DevicePacket.leave(touch.number) {
      try? link.send(packet)
    }
    endTouch(.session(.notNow))
  }

  private func endTouch(_ reason: Reason) { awaited.take()?.failed(reason) }

  private func heard(_ word: HoldPacket.Word, ofTouch number: UInt32) {
    guard awaited?.number == number else { return }
    switch word {
    case .place, .swipe, .again, .matched: return
    case .noMatch, .manyTries: endTouch(.device(.otherFinger))
    case .givenUp: endTouch(.device(.noTouch))
    case .noReader: endTouch(.device(.readerBusy))
    case .away: endTouch(.device(.awayFromSeat))
    case .notHeld: endTouch(.device(.holdDropped))
    }
  }

  // MARK: - the hand-over

  /// The vault was locked. While the covering key is on its way to the service, nobody knows where it is. So the tier keys under it
  /// go as well, and a late answer finds nothing.
  func locked() {
    guard case .handsOver = state else { return }
    end(.session(.lockedMeanwhile))
  }

  /// Ends the hold, because the keys that a finger opened do not fit the vault's files.
  func refused(_ reason: Reason) { end(reason) }

  /// Follows the keybag: the hold ends when a password or the finger's protector is gone or new.
  func follow() {
    switch state {
    case .none: if vault.keybag?.fingerProtector == nil { problem = nil }
    case .handsOver(_, _, let covered), .held(_, _, let covered):
      guard covered.ways != ways else { return }
      if ways == nil { drop() } else { end(.device(.holdChanged)) }
    }
  }

  private func send() {
    guard case .handsOver(let handOver, _, let covered) = state else { return }
    do throws(PosixError) {
      let socket = try LocalSocket.connect(to: path)
      // A socket of somebody else's would receive the key.
      guard try socket.peer().uid == 0 else { throw PosixError("its socket", code: EPERM) }
      let link = Link(socket)
      do {
        link.source = try loop.addIO(fd: link.socket.number, events: .readable) { [weak self, weak link] _ in
          if let self, let link { heard(on: link) }
        }
      } catch { return end(.device(.noMemory)) }
      guard let packet = try? DevicePacket.makeKey() else { return end(.device(.noMemory)) }
      try link.send(packet)
      state = .handsOver(handOver, link, covered)
    } catch {
      switch error.code {
      case EAGAIN, EPIPE, ECONNRESET: sendAgain(handOver, covered)
      case ENOENT: end(.device(.noService))
      default: end(.verbatim(error.description))
      }
    }
  }

  /// Sends the covering key, sealed to the key that the service made for this connection.
  private func send(_ handOver: HandOver, sealedTo publicKey: [UInt8], on link: Link) {
    do throws(SodiumError) {
      let packet = try DevicePacket.hold(handOver.key, sealedTo: publicKey)
      link.hasCoveringKey = true
      // If the service has dropped the connection, the next event says so, and the key is sent again.
      try? link.send(packet)
    } catch { end(.device(.invalidReply)) }
  }

  private func sendAgain(_ handOver: HandOver, _ covered: Covered) {
    state = .handsOver(handOver, nil, covered)
    handOver.retry = try? loop.addTimer(after: Self.retryTime) { [weak self] in self?.send() }
  }

  private func heard(on link: Link) {
    var packet: SecureBytes
    do { packet = try SecureBytes(count: DevicePacket.sizeLimit) } catch { return end(.device(.noMemory)) }
    let size: Int?
    do throws(PosixError) {
      size = try link.socket.receive(into: packet.mutableBytes)
    } catch {
      // The service dropped the connection unread, because there were too many.
      if case .handsOver(let handOver, let present?, let covered) = state, present === link,
        error.code == ECONNRESET || error.code == EPIPE
      {
        return sendAgain(handOver, covered)
      }
      return end(.device(.holdDropped))
    }
    guard let size else { return }
    guard size > 0 else { return end(.device(.holdDropped)) }
    let bytes = packet.bytes.extracting(first: size)
    switch state {
    case .none: return
    case .handsOver(let handOver, let present?, _) where present === link && !link.hasCoveringKey:
      switch HoldPacket.made(bytes) {
      case .success(let publicKey): send(handOver, sealedTo: publicKey, on: link)
      case .failure(.unavailable(let reason)): end(reason)
      case .failure, nil: end(.device(.invalidReply))
      }
    case .handsOver(_, let present?, let covered) where present === link:
      switch HoldPacket.holds(bytes) {
      case .success(let place): state = .held(place, link, covered)
      case .failure(.unavailable(let reason)): end(reason)
      case .failure, nil: end(.device(.invalidReply))
      }
    case .held(_, let present, let covered) where present === link: take(bytes, covered)
    case .handsOver, .held: return
    }
  }

  private func take(_ packet: RawSpan, _ covered: Covered) {
    switch HoldPacket.news(packet) {
    case .ended(let why):
      end(why.reason)
      ended(why)
    case .released(let sealed, let moment):
      follow()
      guard case .held = state else { return }
      do throws(SodiumError) { opened(try covered.tiers.open(sealed.span.bytes), moment) } catch {
        end(.device(.invalidReply))
      }
    case .answered(let sealed, let moment, let number):
      follow()
      // A prompt that went meanwhile gets nothing.
      guard case .held = state, let touch = awaited, touch.number == number else { return }
      awaited = nil
      do throws(SodiumError) { touch.opened(try covered.tiers.open(sealed.span.bytes), moment) } catch {
        end(.device(.invalidReply))
        touch.failed(.device(.invalidReply))
      }
    case .touch(let word, let number): heard(word, ofTouch: number)
    case nil: end(.device(.invalidReply))
    }
  }

  private func end(_ reason: Reason) {
    state = .none
    problem = reason
    endTouch(reason)
    Journal.log(.notice, "no finger unlocks the vault until the next password: \(reason.text)")
  }
}
