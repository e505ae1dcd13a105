import Glibc
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeySessionState
import LatchkeySodium
import LatchkeySystemd

/// The events of a connection, for its server.
protocol ControlPeerDelegate: AnyObject {
  /// The connection has ended.
  func ended(_ peer: ControlPeer)
  /// The connection's helper begins to work on a password.
  func willDerive(_ peer: ControlPeer)
  /// The connection of a prompt has ended. The end is nil if the program reported no end.
  func promptEnded(_ peer: ControlPeer, _ end: PromptEnd?)
  /// A packet of another version came, which needs an answer.
  func met(_ message: OtherVersionMessage, from peer: ControlPeer)
}

/// One connection to the control socket.
final class ControlPeer: PromptConnection {
  private var connection: ControlConnection
  private let loop: EventLoop
  private let table: ControlTable
  private unowned let delegate: any ControlPeerDelegate
  private var source: EventSource?
  private var limit: EventSource?
  private var delay: EventSource?
  /// The authentication for which the connection will bring keys.
  var greeting: Hello?
  /// The claim that decides about those keys, or the claim of a helper that brings no keys.
  var claim: Claim?
  /// Called when the keys of a login are answered, or when no keys will come.
  var loginEnded: (() -> Void)?
  /// Called when the connection ends, for work that lasts over several requests.
  var workEnded: (() -> Void)?
  /// Whether the helper works on a password, in silence. True until it has erased the password.
  private(set) var isDeriving = false
  /// Whether the helper may still have a password or keys in memory, because it began to work and has not ended.
  private(set) var hasDerived = false
  let begun = ContinuousClock.now
  /// Whether the connection's keys may lift a lock.
  var mayLift: Bool { claim?.mayLift ?? false }
  private var wrongKeys = 0
  private var isOver = false
  /// The functions to call when the connection has left.
  private var leaving: [() -> Void] = []
  /// Whether the connection was asked to leave, and has not left yet.
  var isLeaving: Bool { !leaving.isEmpty }
  /// The functions to call when the connection has ended by itself.
  private var awaiting: [() -> Void] = []
  private var awaitingLimit: EventSource?
  /// Whether the connection belongs to a prompt on the screen. Such a connection may be silent for as long as the person is.
  var isPrompt = false
  /// The connection's descriptor, by which the server knows the peer.
  let number: Int32
  /// The process that connected.
  var credentials: LocalSocket.Peer { connection.peer }

  /// The time for which a peer may be silent.
  private static let silenceLimit = Duration.seconds(10)
  /// The time for which a helper may be silent while it works on a password. The helper ends by itself a little sooner.
  private static let derivingLimit = Duration.seconds(300)
  /// The number of wrong keys after which the connection ends.
  private static let wrongKeyLimit = 3

  init?(
    _ connection: consuming ControlConnection, loop: EventLoop, table: ControlTable, delegate: any ControlPeerDelegate
  ) {
    number = connection.number
    self.connection = connection
    self.loop = loop
    self.table = table
    self.delegate = delegate
    do {
      limit = try loop.addTimer(after: ControlPeer.silenceLimit) { [weak self] in self?.end() }
      source = try loop.addIO(fd: self.connection.number, events: .readable) { [weak self] _ in self?.receive() }
    } catch { return nil }
  }

  /// Whether this connection belongs to the same login as `other`, a step later.
  func follows(_ other: ControlPeer) -> Bool {
    guard let greeting, let before = other.greeting else { return false }
    return greeting.stage == .openSession && before.stage == .authenticate && greeting.service == before.service
      && greeting.tty == before.tty && greeting.remoteHost == before.remoteHost
  }

  /// Whether the keys that the helper works on are unwanted.
  func isAmong(_ unwanted: UnwantedDerivations) -> Bool {
    switch unwanted {
    case .all: true
    case .claimed(let isUnwanted): claim.map(isUnwanted) ?? false
    }
  }

  /// Whether the peer's program has ended. While an answer is due, nothing is read, so the end would go unnoticed.
  var hasGone: Bool { isOver || connection.hasEnded }

  func end(_ outcome: PromptEnd? = nil) {
    guard !isOver else { return }
    isOver = true
    (source, limit, delay) = (nil, nil, nil)
    delegate.ended(self)
    endLogin()
    workEnded?()
    tellAwaiting()
    if isPrompt { delegate.promptEnded(self, outcome) }
  }

  /// Waits for the end of a helper that has delivered its keys and erases its memory.
  ///
  /// - Parameter gone: called once, now or later: after the helper has ended, or after a time limit.
  func awaitEnd(_ gone: @escaping () -> Void) {
    awaiting.append(gone)
    if awaitingLimit == nil {
      awaitingLimit = try? loop.addTimer(after: ControlPeer.leaveLimit) { [weak self] in self?.tellAwaiting() }
    }
    if isOver || awaitingLimit == nil { tellAwaiting() }
  }

  private func tellAwaiting() {
    awaitingLimit = nil
    let told = awaiting
    awaiting = []
    for gone in told { gone() }
  }

  /// The time in which a prompt must leave the screen, or a helper must erase its memory. The unit's TimeoutStopSec= and logind's
  /// InhibitDelayMaxSec= are longer.
  private static let leaveLimit = Duration.seconds(3)

  func withdraw(gone: @escaping () -> Void) {
    guard !isLeaving else { return leaving.append(gone) }
    guard !isOver else { return gone() }
    isOver = true
    delay = nil
    leaving = [gone]
    connection.finish()
    endLogin()
    limit = try? loop.addTimer(after: ControlPeer.leaveLimit) { [weak self] in self?.leave() }
    source?.resume()
    if isPrompt { delegate.promptEnded(self, nil) }
    if limit == nil || source == nil { leave() }
  }

  /// Drops a connection that has left, or that did not leave in time.
  private func leave() {
    (source, limit) = (nil, nil)
    isDeriving = false
    let told = leaving
    leaving = []
    delegate.ended(self)
    workEnded?()
    for gone in told { gone() }
    tellAwaiting()
  }

  private func receive() {
    guard !isOver else {
      // A connection that was asked to leave may still send packets, but they do not count.
      if case .ended = connection.receive() { leave() }
      return
    }
    switch connection.receive() {
    case .nothing: return
    case .ended: end()
    case .malformed: end()
    case .otherVersion(let message):
      awaitAnswer()
      delegate.met(message, from: self)
    case .packet(let packet):
      awaitAnswer()
      serve(packet)
    }
  }

  /// Reads one packet at a time. The next packet is read when the present one is answered.
  private func awaitAnswer() {
    source?.pause()
    limit?.pause()
  }

  private func serve(_ packet: consuming ArrivedPacket) {
    guard let row = table.row(for: packet.operation) else { return end() }
    isDeriving = isDeriving && row.keepsDeriving
    row.serve(packet, self)
  }

  /// Begins a prompt, which belongs to this connection from then on.
  func beginPrompt<Prompt>(_ begin: () throws(Refusal) -> Prompt) throws(Refusal) -> Prompt {
    guard !isPrompt else { throw Refusal(.refusal(.otherPrompt)) }
    let prompt = try begin()
    isPrompt = true
    return prompt
  }

  /// A public key that the next packet is sealed to.
  func makeOneTimeKey() throws(Refusal) -> OneTimePublicKey {
    do throws(SodiumError) { return try connection.makeOneTimeKey() } catch {
      throw Refusal(.refusal(.noMemoryForKey))
    }
  }

  /// Answers wrong keys late, on this connection alone.
  func answer(_ outcome: UnlockOutcome) {
    endLogin()
    guard outcome == .wrongKeys else { return send(outcome.packet) }
    wrongKeys += 1
    delay = try? loop.addTimer(after: .seconds(wrongKeys)) { [weak self] in
      guard let self else { return }
      send(outcome.packet)
      if wrongKeys >= ControlPeer.wrongKeyLimit { end() }
    }
    if delay == nil { end() }
  }

  private func endLogin() { loginEnded.take()?() }

  /// Answers with a whole packet.
  func send(_ packet: [UInt8]) {
    guard !isOver else { return }
    do throws(PosixError) { try connection.send(packet) } catch { return end() }
    if isPrompt {
      limit = nil
    } else {
      limit?.rearm(after: isDeriving ? ControlPeer.derivingLimit : ControlPeer.silenceLimit)
    }
    source?.resume()
  }

  /// Tells a program of another version that its request is not served.
  func declineOtherVersion() {
    send(ControlPacket.ofOtherVersion)
    end()
  }

  /// Notes that the next answer makes a helper work on a password.
  func beginsDeriving() {
    isDeriving = true
    hasDerived = true
    delegate.willDerive(self)
  }
}
