import Glibc
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeySessionState
import LatchkeySodium
import LatchkeySystemd

/// The events of a connection for the server that has it.
protocol ControlPeerDelegate: AnyObject {
  /// It has ended, or left.
  func ended(_ peer: ControlPeer)
  /// Its helper begins to work on a password.
  func willDerive(_ peer: ControlPeer)
  /// It stood for a prompt, and has ended; with nil where nothing else was said.
  func promptEnded(_ peer: ControlPeer, _ end: PromptEnd?)
  /// A packet of another version came, which is to be answered.
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
  /// The authentication that its keys will be for.
  var greeting: Hello?
  /// The claim by which those keys will be judged, or what is known of a helper that brings none.
  var claim: Claim?
  /// Called once its keys of a login are answered, or none will come.
  var loginEnded: (() -> Void)?
  /// Called when the connection ends, by what goes on for it from one request to the next.
  var workEnded: (() -> Void)?
  /// Whether its helper works on one, in silence; also while it leaves, until it has erased the password.
  private(set) var isDeriving = false
  /// Whether its helper may still have a password or keys in memory: it began to work, and has not ended.
  private(set) var hasDerived = false
  let begun = ContinuousClock.now
  /// Whether its keys may lift a lock.
  var mayLift: Bool { claim?.mayLift ?? false }
  private var wrongKeys = 0
  private var isOver = false
  /// All are told when it has left; none where it does not leave.
  private var leaving: [() -> Void] = []
  /// Whether it was asked to leave, and has not yet.
  var isLeaving: Bool { !leaving.isEmpty }
  /// All are told when it has ended by itself.
  private var awaiting: [() -> Void] = []
  private var awaitingLimit: EventSource?
  /// Whether it stands for a prompt on the screen: then it may be silent for as long as the person is.
  var isPrompt = false
  /// Its descriptor, by which the server knows it.
  let number: Int32
  /// The process that connected.
  var credentials: LocalSocket.Peer { connection.peer }

  /// How long a peer may be silent.
  private static let silenceLimit = Duration.seconds(10)
  /// How long a helper may be that works on a password. It ends by itself a little sooner.
  private static let derivingLimit = Duration.seconds(300)
  /// After so many wrong keys the connection ends.
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

  /// Whether this is the same login as another one, a step later.
  func follows(_ other: ControlPeer) -> Bool {
    guard let greeting, let before = other.greeting else { return false }
    return greeting.stage == .openSession && before.stage == .authenticate && greeting.service == before.service
      && greeting.tty == before.tty && greeting.remoteHost == before.remoteHost
  }

  /// Whether what its helper works on is unwanted.
  func isAmong(_ unwanted: UnwantedDerivations) -> Bool {
    switch unwanted {
    case .all: true
    case .claimed(let isUnwanted): claim.map(isUnwanted) ?? false
    }
  }

  /// Whether its program has gone. While an answer is due, nothing is read, and its end goes unnoticed.
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

  /// Waits for a helper that needs nothing more, and erases what it has.
  ///
  /// - Parameter gone: called once, at once or soon: when it has ended, or takes too long.
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

  /// How long what shows a prompt may take to leave, or a helper to erase its memory. The unit's TimeoutStopSec= is more, and so
  /// is logind's InhibitDelayMaxSec=.
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

  /// It has left, or takes too long.
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
      // Its packets count for nothing now.
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

  /// One packet at a time: the next is read when this one is answered.
  private func awaitAnswer() {
    source?.pause()
    limit?.pause()
  }

  private func serve(_ packet: consuming ArrivedPacket) {
    guard let row = table.row(for: packet.operation) else { return end() }
    isDeriving = isDeriving && row.keepsDeriving
    row.serve(packet, self)
  }

  /// Begins a prompt that this connection stands for from then on.
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

  /// Wrong keys are answered late, on this connection alone.
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

  /// Tells a program of another version that nothing is done for it.
  func declineOtherVersion() {
    send(ControlPacket.ofOtherVersion)
    end()
  }

  /// The answer that follows makes a helper work on a password.
  func beginsDeriving() {
    isDeriving = true
    hasDerived = true
    delegate.willDerive(self)
  }
}
