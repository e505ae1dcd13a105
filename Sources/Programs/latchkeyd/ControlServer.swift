import Glibc
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyPrompts
import LatchkeySessionState
import LatchkeySodium
import LatchkeySystemd

/// What the control socket's peers ask for. Every answer may come later; none may be forgotten.
protocol ControlHandler: AnyObject {
  /// An authentication begins in the process `peer`. Where keys are wanted, what they will be measured by.
  func hello(_ hello: Hello, from peer: LocalSocket.Peer, answer: @escaping (Need, Claim?) -> Void)
  /// Keys for it.
  func unlock(
    _ delivery: consuming TierDelivery, _ hello: Hello, by claim: Claim?, from peer: LocalSocket.Peer,
    answer: @escaping (UnlockOutcome) -> Void)
  /// Tier key C alone, for it.
  func unlock(
    _ delivery: consuming SessionDelivery, _ hello: Hello, by claim: Claim?, from peer: LocalSocket.Peer,
    answer: @escaping (UnlockOutcome) -> Void)
  /// How things are.
  var status: Status { get }
  /// Lock, by command.
  func lock() throws(Refusal)
  /// The program is there that shows a prompt; nil when nobody waits for it.
  func showPrompt(_ number: UInt64, on connection: any PromptConnection) -> PromptRequest?
  /// The passphrase that a program gave for the prompt on a connection; nil for none.
  func givenPassphrase(on connection: any PromptConnection) -> GivenPassphrase?
  /// A prompt that the peer will show itself.
  func openPrompt(
    _ purpose: PromptRequest.Purpose, collection: String, on connection: any PromptConnection
  ) throws(Refusal) -> (number: UInt64, request: PromptRequest)
  /// The prompt on a connection has ended.
  ///
  /// - Parameter outcome: nil where only its connection ended.
  func promptEnded(on connection: any PromptConnection, _ outcome: PromptEnd?)
  /// How a passphrase for a prompt becomes a key.
  func derivation(prompt number: UInt64) throws(Refusal) -> PassphraseDerivation
  /// The key that a passphrase gave.
  func passphrase(_ key: consuming PassphraseKey) -> UnlockOutcome
  /// Takes the passphrase from a collection.
  func removePassphrase(collection: String) throws(Refusal)
  /// A helper in the process `peer` is about to work on a password, and is not to bring keys for an authentication. By what it
  /// is known to be unwanted, or why it must not.
  func mayDerive(from peer: LocalSocket.Peer, answer: @escaping (Result<Claim, Refusal>) -> Void)
  /// Whether keys could be changed now.
  func checkTakesNewKeys() throws(Refusal)
  /// New tier keys, beside those before.
  func rotate(_ delivery: consuming TierDelivery) -> UnlockOutcome
  /// The oldest generation of tier keys that something hangs on.
  func neededEpoch() throws(Refusal) -> UInt32
  /// The secret of a protector without a password.
  func deviceSecret(_ request: DeviceSecretRequest) throws(Refusal) -> SealedDeviceSecret
  /// Destroys what hangs on the login's password; how many items there were.
  func destroyPasscodeItems(passwordRemoved: Bool) throws(Refusal) -> UInt64
  /// A backup begins on a connection: the number of the prompt for its passphrase.
  func beginBackup(on connection: any PromptConnection) throws(Refusal) -> UInt64
  /// A restore begins in the same way.
  func beginRestore(_ request: RestoreRequest, on connection: any PromptConnection) throws(Refusal) -> UInt64
  /// The next bytes of the backup on a connection.
  func takeChunk(on connection: any PromptConnection) throws(Refusal) -> ArchiveChunk
  /// The next chunk of the backup that a connection restores.
  func giveChunk(
    _ chunk: [UInt8], on connection: any PromptConnection, answer: @escaping (Result<Bool, Refusal>) -> Void)
  /// What became of everything; ends a restore.
  func archiveReport(after line: UInt64, on connection: any PromptConnection) throws(Refusal) -> ArchivePage
  /// A part of the access log, newest first.
  func accessLog(below number: UInt64) throws(Refusal) -> AccessLogPage
  /// Removes all of the access log; how many entries there were.
  func clearAccessLog(for peer: LocalSocket.Peer) throws(Refusal) -> UInt64
  /// A password that PAM accepted does not open the vault.
  func noteOtherPassword()
  /// The login password took so many milliseconds to check.
  func noteSlowPassword(milliseconds: UInt32)
  /// Puts the vault in a folder aside; where it is then.
  func startEmpty(folder: String) throws(Refusal) -> String
}

/// Why the daemon does not do what a peer asks.
struct Refusal: Error {
  /// For a person.
  let reason: String
}

/// The control socket: takes connections of the user and of root, and gives each a place and a time limit of its own.
/// Whatever one peer does or leaves undone, the others are served.
final class ControlServer {
  private let listener: LocalSocket
  private let loop: EventLoop
  private let owner: uid_t
  private unowned let handler: any ControlHandler
  private var source: EventSource?
  private var peers: [Int32: ControlPeer] = [:]

  /// More connections than this wait in the kernel, until one of these ends.
  private static let connectionLimit = 32
  /// How many helpers may be at work for this daemon: each takes Argon2id's memory, for minutes on a slow machine.
  private static let helperLimit = 3

  init(
    _ listener: consuming LocalSocket, loop: EventLoop, owner: uid_t, handler: any ControlHandler
  ) throws(SystemdError) {
    self.listener = listener
    self.loop = loop
    self.owner = owner
    self.handler = handler
    source = try loop.addIO(fd: self.listener.number, events: .readable) { [unowned self] _ in acceptAll() }
  }

  private func acceptAll() {
    while peers.count < ControlServer.connectionLimit {
      guard let socket = try? listener.accept() else { return }
      // Anybody else is dropped without a word.
      guard let connection = ControlConnection(socket), connection.peer.uid == owner || connection.peer.uid == 0
      else { continue }
      let number = connection.number
      let peer = ControlPeer(connection, loop: loop, handler: handler) { [unowned self] in
        peers[number] = nil
        source?.resume()
      }
      peer?.willDerive = { [unowned self] in makeRoom(for: $0) }
      if let peer { peers[number] = peer }
    }
    source?.pause()
  }

  /// Ends helpers that work on a password. They erase their memory then. Those that have handed over their keys do so by
  /// themselves.
  ///
  /// - Parameter gone: called once, at once or soon: when all of them have done so, or take too long.
  func endDerivations(_ which: UnwantedDerivations, gone: @escaping () -> Void) {
    var left = 1
    let hasLeft = {
      left -= 1
      if left == 0 { gone() }
    }
    // One that leaves already is waited for as well.
    for peer in peers.values where peer.hasDerived && peer.isAmong(which) {
      left += 1
      if peer.isDeriving { peer.withdraw(gone: hasLeft) } else { peer.awaitEnd(hasLeft) }
    }
    hasLeft()
  }

  /// A helper begins: the newest password is the one to work on. The login that it belongs to has begun another one before,
  /// which is not needed any more unless it alone may lift a lock; of all others the oldest go, whose passwords were
  /// perhaps wrong.
  private func makeRoom(for newest: ControlPeer) {
    var others = peers.values.filter { $0 !== newest && $0.isDeriving && !$0.isLeaving }.sorted { $0.begun < $1.begun }
    while let index = others.firstIndex(where: { newest.follows($0) && (newest.mayLift || !$0.mayLift) }) {
      others.remove(at: index).withdraw {}
    }
    for oldest in others.prefix(max(others.count - ControlServer.helperLimit + 1, 0)) { oldest.withdraw {} }
  }
}

/// One connection to the control socket.
private final class ControlPeer: PromptConnection {
  private var connection: ControlConnection
  private let loop: EventLoop
  private unowned let handler: any ControlHandler
  private let ended: () -> Void
  private var source: EventSource?
  private var limit: EventSource?
  private var delay: EventSource?
  private var greeting: Hello?
  private var claim: Claim?
  /// Called when its helper begins to work on a password.
  var willDerive: ((ControlPeer) -> Void)?
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
  private var isPrompt = false

  /// How long a peer may be silent.
  private static let silenceLimit = Duration.seconds(10)
  /// How long a helper may be that works on a password. It ends by itself a little sooner.
  private static let derivingLimit = Duration.seconds(300)
  /// After so many wrong keys the connection ends.
  private static let wrongKeyLimit = 3

  init?(
    _ connection: consuming ControlConnection, loop: EventLoop, handler: any ControlHandler, ended: @escaping () -> Void
  ) {
    self.connection = connection
    self.loop = loop
    self.handler = handler
    self.ended = ended
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

  func end(_ outcome: PromptEnd? = nil) {
    guard !isOver else { return }
    isOver = true
    (source, limit, delay) = (nil, nil, nil)
    ended()
    tellAwaiting()
    if isPrompt { handler.promptEnded(on: self, outcome) }
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
    limit = try? loop.addTimer(after: ControlPeer.leaveLimit) { [weak self] in self?.leave() }
    source?.resume()
    if isPrompt { handler.promptEnded(on: self, nil) }
    if limit == nil || source == nil { leave() }
  }

  /// It has left, or takes too long.
  private func leave() {
    (source, limit) = (nil, nil)
    isDeriving = false
    let told = leaving
    leaving = []
    ended()
    for gone in told { gone() }
    tellAwaiting()
  }

  private func receive() {
    guard !isOver else {
      // What it says now counts for nothing.
      if case .ended = connection.receive() { leave() }
      return
    }
    switch connection.receive() {
    case .nothing: return
    case .ended: end()
    case .request(let request):
      // One request at a time: the next is read when this one is answered.
      source?.pause()
      limit?.pause()
      serve(request)
    }
  }

  private func serve(_ request: consuming ControlRequest) {
    let wasDeriving = isDeriving
    isDeriving = false
    switch consume request {
    case .hello(let hello):
      greeting = hello
      claim = nil
      handler.hello(hello, from: connection.peer) { [weak self] need, claim in
        guard let self else { return }
        self.claim = claim
        if need == .keys { begins() }
        answer(.need(need))
      }
    case .unlock(let delivery):
      guard let greeting else { return end() }
      handler.unlock(delivery, greeting, by: claim, from: connection.peer) { [weak self] in self?.answer($0) }
    case .unlockSession(let delivery):
      guard let greeting else { return end() }
      handler.unlock(delivery, greeting, by: claim, from: connection.peer) { [weak self] in self?.answer($0) }
    case .status: answer(.status(handler.status))
    case .lock:
      answer { () throws(Refusal) in
        try handler.lock()
        return .locked
      }
    case .prompt(let number):
      guard !isPrompt, let request = handler.showPrompt(number, on: self) else {
        return answer(.declined("nobody waits for that prompt"))
      }
      isPrompt = true
      answer(.prompt(request))
    case .openPrompt(let purpose, let collection):
      guard !isPrompt else { return end() }
      answer { () throws(Refusal) in
        let (number, request) = try handler.openPrompt(purpose, collection: collection, on: self)
        isPrompt = true
        return .opened(number, request)
      }
    case .takePassphrase(let publicKey):
      guard let passphrase = handler.givenPassphrase(on: self) else {
        return answer(.declined("no program gave a passphrase"))
      }
      send { try connection.send(passphrase, sealedTo: publicKey) }
    case .promptEnded(let outcome): end(outcome)
    case .derivation(let prompt):
      begin { [handler] () throws(Refusal) in .derivation(try handler.derivation(prompt: prompt)) }
    case .passphrase(let key): answer(handler.passphrase(key))
    case .removePassphrase(let collection):
      answer { () throws(Refusal) in
        try handler.removePassphrase(collection: collection)
        return .passphraseRemoved
      }
    case .rotate(let delivery): answer(handler.rotate(delivery))
    case .mayRotate:
      begin { [handler] () throws(Refusal) in
        try handler.checkTakesNewKeys()
        return .mayRotate
      }
    case .mayDerive: begin { .mayDerive }
    case .neededEpoch: answer { () throws(Refusal) in .neededEpoch(try handler.neededEpoch()) }
    case .deviceSecret(let request):
      // A step on its way.
      isDeriving = wasDeriving
      answer { () throws(Refusal) in .deviceSecret(try handler.deviceSecret(request)) }
    case .destroyPasscodeItems(let removed):
      answer { () throws(Refusal) in
        .passcodeItemsDestroyed(try handler.destroyPasscodeItems(passwordRemoved: removed))
      }
    case .beginBackup:
      guard !isPrompt else { return end() }
      answer { () throws(Refusal) in
        let number = try handler.beginBackup(on: self)
        isPrompt = true
        return .archiveOpened(number)
      }
    case .beginRestore(let request):
      guard !isPrompt else { return end() }
      answer { () throws(Refusal) in
        let number = try handler.beginRestore(request, on: self)
        isPrompt = true
        return .archiveOpened(number)
      }
    case .takeChunk: answer { () throws(Refusal) in .chunk(try handler.takeChunk(on: self)) }
    case .giveChunk(let chunk):
      handler.giveChunk(chunk, on: self) { [weak self] result in
        self?.answer { () throws(Refusal) in .chunkTaken(isLast: try result.get()) }
      }
    case .archiveReport(let line):
      answer { () throws(Refusal) in .archiveReport(try handler.archiveReport(after: line, on: self)) }
    case .accessLog(let number):
      answer { () throws(Refusal) in .accessLog(try handler.accessLog(below: number)) }
    case .clearAccessLog:
      answer { () throws(Refusal) in .accessLogCleared(try handler.clearAccessLog(for: connection.peer)) }
    case .noteOtherPassword:
      handler.noteOtherPassword()
      answer(.noted)
    case .noteSlowPassword(let time):
      handler.noteSlowPassword(milliseconds: time)
      answer(.noted)
    case .startEmpty(let folder):
      answer { () throws(Refusal) in .putAside(try handler.startEmpty(folder: folder)) }
    case .oneTimeKey:
      // A step on its way, as the one above.
      isDeriving = wasDeriving
      answer { () throws(Refusal) in
        do throws(SodiumError) { return .oneTimeKey(try connection.makeOneTimeKey()) } catch {
          throw Refusal(reason: "there is no memory for a key")
        }
      }
    case .malformed: end()
    }
  }

  /// Wrong keys are answered late, on this connection alone.
  private func answer(_ outcome: UnlockOutcome) {
    guard outcome == .wrongKeys else { return answer(.outcome(outcome)) }
    wrongKeys += 1
    delay = try? loop.addTimer(after: .seconds(wrongKeys)) { [weak self] in
      guard let self else { return }
      answer(.outcome(outcome))
      if wrongKeys >= ControlPeer.wrongKeyLimit { end() }
    }
    if delay == nil { end() }
  }

  private func answer(_ reply: () throws(Refusal) -> ControlReply) {
    do throws(Refusal) { answer(try reply()) } catch { answer(.declined(error.reason)) }
  }

  private func answer(_ reply: ControlReply) { send { try connection.send(reply) } }

  private func send(_ packet: () throws -> Void) {
    guard !isOver else { return }
    do { try packet() } catch { return end() }
    if isPrompt {
      limit = nil
    } else {
      limit?.rearm(after: isDeriving ? ControlPeer.derivingLimit : ControlPeer.silenceLimit)
    }
    source?.resume()
  }

  /// Lets a helper work that no hello announces.
  private func begin(_ reply: @escaping () throws(Refusal) -> ControlReply) {
    // Keys of an authentication would have to go by a hello of their own.
    (greeting, claim) = (nil, nil)
    handler.mayDerive(from: connection.peer) { [weak self] result in
      guard let self else { return }
      answer { () throws(Refusal) in
        let claim = try result.get()
        let reply = try reply()
        self.claim = claim
        begins()
        return reply
      }
    }
  }

  /// The answer that follows makes a helper work.
  private func begins() {
    isDeriving = true
    hasDerived = true
    willDerive?(self)
  }
}
