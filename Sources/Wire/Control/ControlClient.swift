import Glibc
import LatchkeyBackup
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// Where the control socket is.
public enum ControlSocket {
  /// The runtime folder of a user.
  public static func runtimeFolder(uid: uid_t) -> String { "/run/user/\(uid)" }

  /// The folder of the socket, below the runtime folder.
  public static func folder(runtime: String) -> String { runtime + "/latchkey" }

  /// The socket itself.
  public static func path(runtime: String) -> String { folder(runtime: runtime) + "/control" }
}

/// Why the daemon could not be asked.
public enum ControlError: Error, Equatable, Sendable {
  /// Nobody listens.
  case noDaemon
  /// Somebody listens who is neither the user nor root.
  case strangeDaemon
  /// No answer in time.
  case silent
  /// An answer that this version does not know, or the connection ended.
  case broken
  /// It cannot be done; the text says why.
  case declined(String)
}

/// One connection to the daemon, from the helper or the command line.
public struct ControlClient: ~Copyable {
  private let socket: LocalSocket

  /// Connects to the daemon of the user `uid`.
  ///
  /// - Throws: ``ControlError/noDaemon``; ``ControlError/strangeDaemon`` when the socket is a link or somebody else's:
  ///   nothing is sent to it; ``ControlError/silent`` when the daemon lets too many wait.
  public init(runtime: String, uid: uid_t) throws(ControlError) {
    // Against mistakes only: the file could be another one a moment later. Who listens is what the kernel says of the
    // connection.
    var file = stat()
    guard lstat(ControlSocket.path(runtime: runtime), &file) == 0 else { throw .noDaemon }
    guard file.st_mode & S_IFMT == S_IFSOCK, file.st_uid == uid || file.st_uid == 0 else { throw .strangeDaemon }
    let connected = try ControlClient.connect(ControlSocket.path(runtime: runtime))
    guard let peer = try? connected.peer(), peer.uid == uid || peer.uid == 0 else { throw .strangeDaemon }
    socket = connected
  }

  private static func connect(_ path: String) throws(ControlError) -> LocalSocket {
    do { return try LocalSocket.connect(to: path) } catch {
      throw error.code == EAGAIN ? .silent : .noDaemon
    }
  }

  private borrowing func ask(_ packet: RawSpan, until deadline: Int) throws(ControlError) -> ControlReply {
    var bytes = [UInt8](repeating: 0, count: ControlPacket.sizeLimit)
    let count: Int
    do {
      try socket.send(packet)
      try socket.waitForPacket(until: deadline)
      count =
        try bytes.withUnsafeMutableBufferPointer { buffer throws(PosixError) in
          try socket.receive(into: UnsafeMutableRawBufferPointer(buffer))
        } ?? 0
    } catch { throw error.code == ETIMEDOUT ? .silent : .broken }
    guard let reply = ControlReply(decoding: Array(bytes.prefix(count))) else { throw .broken }
    return reply
  }

  /// Announces an authentication.
  ///
  /// - Parameter deadline: on the clock of `Process.now`, in milliseconds; so for every call.
  public borrowing func hello(_ hello: Hello, until deadline: Int) throws(ControlError) -> Need {
    var out = ControlPacket.begin(.hello)
    hello.encode(into: &out)
    guard case .need(let need) = try ask(out.bytes.span.bytes, until: deadline) else { throw .broken }
    return need
  }

  /// Does what takes long. The process ends, by SIGTERM, when the daemon ends this connection meanwhile: it wants no keys
  /// of this authentication any more.
  ///
  /// From then on the connection lasts as long as the process: at its end the daemon knows that all of this was erased.
  public borrowing func derive<Result: ~Copyable>(
    _ body: () throws(KeybagError) -> Result
  ) throws(KeybagError) -> Result {
    socket.keepUntilProcessEnds()
    guard socket.endProcessOnInput(true) else { throw .overtaken }
    defer { _ = socket.endProcessOnInput(false) }
    return try body()
  }

  /// Delivers keys.
  public borrowing func unlock(
    _ delivery: consuming TierDelivery, until deadline: Int
  ) throws(ControlError) -> UnlockOutcome {
    try outcome(of: try ControlClient.packet(delivery, .unlock), until: deadline)
  }

  /// Delivers tier key C alone.
  public borrowing func unlock(
    _ delivery: consuming SessionDelivery, until deadline: Int
  ) throws(ControlError) -> UnlockOutcome {
    try outcome(of: try ControlClient.packet(delivery), until: deadline)
  }

  /// Delivers the keys of a keybag that was given new ones.
  public borrowing func rotate(
    _ delivery: consuming TierDelivery, until deadline: Int
  ) throws(ControlError) -> UnlockOutcome {
    try outcome(of: try ControlClient.packet(delivery, .rotate), until: deadline)
  }

  /// Delivers the key that a passphrase gave.
  public borrowing func passphrase(
    _ key: consuming PassphraseKey, until deadline: Int
  ) throws(ControlError) -> UnlockOutcome {
    try outcome(of: try ControlClient.packet(key), until: deadline)
  }

  /// Sends a packet that carries keys, sealed to a key that the daemon makes for it.
  private borrowing func outcome(
    of packet: borrowing SecureBytes, until deadline: Int
  ) throws(ControlError) -> UnlockOutcome {
    let publicKey = try answer(ControlPacket.begin(.oneTimeKey), until: deadline) {
      if case .oneTimeKey(let key) = $0 { key } else { nil }
    }
    let sealed = try ControlClient.sodium { () throws(SodiumError) in try OneTimeKey.seal(packet, to: publicKey) }
    guard case .outcome(let outcome) = try ask(sealed.span.bytes, until: deadline) else { throw .broken }
    return outcome
  }

  private static func packet(_ delivery: consuming SessionDelivery) throws(ControlError) -> SecureBytes {
    do { return try delivery.encoded(prefix: ControlPacket.begin(.unlockSession).bytes) } catch { throw .broken }
  }

  private static func packet(_ key: consuming PassphraseKey) throws(ControlError) -> SecureBytes {
    do { return try key.encoded(prefix: ControlPacket.begin(.passphrase).bytes) } catch { throw .broken }
  }

  private static func packet(
    _ delivery: consuming TierDelivery, _ operation: ControlPacket.Operation
  ) throws(ControlError) -> SecureBytes {
    do { return try delivery.encoded(prefix: ControlPacket.begin(operation).bytes) } catch { throw .broken }
  }

  /// How things are.
  public borrowing func status(until deadline: Int) throws(ControlError) -> Status {
    guard case .status(let status) = try ask(ControlPacket.begin(.status).bytes.span.bytes, until: deadline) else {
      throw .broken
    }
    return status
  }

  /// Locks the vault.
  public borrowing func lock(until deadline: Int) throws(ControlError) {
    try answer(ControlPacket.begin(.lock), until: deadline) { if case .locked = $0 { () } else { nil } }
  }

  /// Asks for what may be declined; `pick` takes the answer out of the one reply that fits.
  private borrowing func answer<Answer>(
    _ out: ByteWriter, until deadline: Int, _ pick: (ControlReply) -> Answer?
  ) throws(ControlError) -> Answer {
    let reply = try ask(out.bytes.span.bytes, until: deadline)
    if case .declined(let reason) = reply { throw .declined(reason) }
    guard let answer = pick(reply) else { throw .broken }
    return answer
  }

  /// A new secret for a protector without a password, which the device key has wrapped.
  ///
  /// - Throws: ``ControlError/declined(_:)`` without a device key.
  public borrowing func newDeviceSecret(vault: [UInt8], until deadline: Int) throws(ControlError) -> DeviceSecret {
    let protector = Sodium.randomBytes(16)
    let mine = try ControlClient.sodium { () throws(SodiumError) in try Key.random() }
    let sealed = try deviceSecret(.new(vault: vault, protector: protector), for: mine, until: deadline)
    return DeviceSecret(
      protector: protector, wrapping: sealed.wrapping,
      key: try ControlClient.sodium { () throws(SodiumError) in try sealed.open(with: mine) })
  }

  /// What the device key gives back of the keybag's protector without a password.
  ///
  /// - Throws: ``ControlError/declined(_:)`` where there is no such protector, or the device key is another.
  public borrowing func presentDeviceSecret(until deadline: Int) throws(ControlError) -> Key {
    let mine = try ControlClient.sodium { () throws(SodiumError) in try Key.random() }
    let sealed = try deviceSecret(.present, for: mine, until: deadline)
    return try ControlClient.sodium { () throws(SodiumError) in try sealed.open(with: mine) }
  }

  private borrowing func deviceSecret(
    _ wanted: DeviceSecretRequest.Wanted, for mine: borrowing Key, until deadline: Int
  ) throws(ControlError) -> SealedDeviceSecret {
    var out = ControlPacket.begin(.deviceSecret)
    DeviceSecretRequest(wanted, publicKey: SealedBox.publicKey(of: mine)).encode(into: &out)
    return try answer(out, until: deadline) { if case .deviceSecret(let secret) = $0 { secret } else { nil } }
  }

  /// What was sealed for this client and does not open was no answer.
  private static func sodium<Result: ~Copyable>(
    _ body: () throws(SodiumError) -> Result
  ) throws(ControlError) -> Result {
    do { return try body() } catch { throw .broken }
  }

  /// Destroys the items that hang on the login's password.
  ///
  /// - Parameter passwordRemoved: whether the login has none any more; else there may be new ones at once.
  /// - Returns: how many there were.
  /// - Throws: ``ControlError/declined(_:)`` where the device key cannot be had: nothing was destroyed then.
  public borrowing func destroyPasscodeItems(
    passwordRemoved: Bool, until deadline: Int
  ) throws(ControlError) -> UInt64 {
    var out = ControlPacket.begin(.destroyPasscodeItems)
    out.number(UInt8(passwordRemoved ? 1 : 0))
    return try answer(out, until: deadline) {
      if case .passcodeItemsDestroyed(let count) = $0 { count } else { nil }
    }
  }

  /// The newest entries of the access log, newest first; `limit` at most.
  ///
  /// - Throws: ``ControlError/declined(_:)`` while the vault is locked.
  public borrowing func accessLog(limit: Int, until deadline: Int) throws(ControlError) -> [AccessLogEntry] {
    var lines: [AccessLogEntry] = []
    while lines.count < limit {
      var out = ControlPacket.begin(.accessLog)
      out.number(lines.last?.number ?? 0)
      let page = try answer(out, until: deadline) { if case .accessLog(let page) = $0 { page } else { nil } }
      lines += page.lines
      // Entries that a stranger numbered backwards lead nowhere.
      guard page.hasMore, let last = page.lines.last, last.number > 0, last.number <= UInt64(Int64.max) else { break }
    }
    return Array(lines.prefix(limit))
  }

  /// Removes the entries of the access log.
  ///
  /// - Returns: how many there were.
  public borrowing func clearAccessLog(until deadline: Int) throws(ControlError) -> UInt64 {
    try answer(ControlPacket.begin(.clearAccessLog), until: deadline) {
      if case .accessLogCleared(let count) = $0 { count } else { nil }
    }
  }

  /// Tells that a password which PAM accepted does not open the vault.
  public borrowing func noteOtherPassword(until deadline: Int) throws(ControlError) {
    try answer(ControlPacket.begin(.noteOtherPassword), until: deadline) { if case .noted = $0 { () } else { nil } }
  }

  /// Tells how long a password took to check that this machine is too slow for.
  public borrowing func noteSlowPassword(milliseconds: Int, until deadline: Int) throws(ControlError) {
    var out = ControlPacket.begin(.noteSlowPassword)
    out.number(UInt32(clamping: milliseconds))
    try answer(out, until: deadline) { if case .noted = $0 { () } else { nil } }
  }

  /// Has the vault put aside, so that the next login founds another one.
  ///
  /// - Parameter folder: where the caller knows it to be; any other is left alone.
  /// - Returns: where it is now.
  /// - Throws: ``ControlError/declined(_:)``.
  public borrowing func startEmpty(folder: String, until deadline: Int) throws(ControlError) -> String {
    var out = ControlPacket.begin(.startEmpty)
    out.text(folder, limit: ControlPacket.pathLimit)
    return try answer(out, until: deadline) { if case .putAside(let path) = $0 { path } else { nil } }
  }

  /// Takes a prompt on: from now on this connection shows it, and the end of the connection is its end.
  ///
  /// - Throws: ``ControlError/declined(_:)`` when there is no such prompt, or it is shown already.
  public borrowing func prompt(_ number: UInt64, until deadline: Int) throws(ControlError) -> PromptRequest {
    var out = ControlPacket.begin(.prompt)
    out.number(number)
    return try answer(out, until: deadline) { if case .prompt(let request) = $0 { request } else { nil } }
  }

  /// The passphrase that a program gave for the prompt of this connection.
  public borrowing func takePassphrase(until deadline: Int) throws(ControlError) -> GivenPassphrase {
    let passphrase: GivenPassphrase?
    do {
      let key = try OneTimeKey()
      var out = ControlPacket.begin(.takePassphrase)
      out.put(key.publicKey)
      try socket.send(out.bytes.span.bytes)
      try socket.waitForPacket(until: deadline)
      var buffer = try SecureBytes(count: ControlPacket.requestLimit)
      let count = try buffer.withUnsafeMutableBytes { memory throws(PosixError) in try socket.receive(into: memory) }
      let packet = try key.open(buffer.bytes.extracting(first: count ?? 0))
      passphrase = GivenPassphrase.read(packet.bytes)
    } catch let error as PosixError where error.code == ETIMEDOUT { throw .silent } catch { throw .broken }
    guard let passphrase else { throw .broken }
    return passphrase
  }

  /// Tells how the prompt of this connection ended. There is no answer.
  public borrowing func promptEnded(_ end: PromptEnd) throws(ControlError) {
    var out = ControlPacket.begin(.promptEnded)
    out.number(end.packetCode)
    do { try socket.send(out.bytes.span.bytes) } catch { throw .broken }
  }

  /// The descriptor, for an event loop: it is readable when the daemon has withdrawn the prompt of this connection.
  public var number: Int32 { socket.number }

  /// How the passphrase for a prompt becomes a key.
  public borrowing func derivation(
    prompt number: UInt64, until deadline: Int
  ) throws(ControlError) -> PassphraseDerivation {
    var out = ControlPacket.begin(.derivation)
    out.number(number)
    return try answer(out, until: deadline) { if case .derivation(let derivation) = $0 { derivation } else { nil } }
  }

  /// Makes a prompt for a collection that the caller shows itself, on this connection.
  public borrowing func openPrompt(
    _ purpose: PromptRequest.Purpose, collection: String, until deadline: Int
  ) throws(ControlError) -> (number: UInt64, request: PromptRequest) {
    var out = ControlPacket.begin(.openPrompt)
    out.number(purpose.rawValue)
    out.text(collection, limit: PromptRequest.textLimit)
    return try answer(out, until: deadline) {
      if case .opened(let number, let request) = $0 { (number, request) } else { nil }
    }
  }

  /// Takes the passphrase from a collection that is open.
  public borrowing func removePassphrase(collection: String, until deadline: Int) throws(ControlError) {
    var out = ControlPacket.begin(.removePassphrase)
    out.text(collection, limit: PromptRequest.textLimit)
    try answer(out, until: deadline) { if case .passphraseRemoved = $0 { () } else { nil } }
  }

  /// Asks whether keys could be rotated now.
  ///
  /// - Throws: ``ControlError/declined(_:)`` with why not.
  public borrowing func mayRotate(until deadline: Int) throws(ControlError) {
    try answer(ControlPacket.begin(.mayRotate), until: deadline) { if case .mayRotate = $0 { () } else { nil } }
  }

  /// Says that this process is about to work on a password, to change the keybag. The daemon then ends it in ``derive(_:)``
  /// as it does one that brings keys: before the machine sleeps, by command, and when its session has ended.
  ///
  /// - Throws: ``ControlError/declined(_:)`` with why not.
  public borrowing func mayDerive(until deadline: Int) throws(ControlError) {
    try answer(ControlPacket.begin(.mayDerive), until: deadline) { if case .mayDerive = $0 { () } else { nil } }
  }

  /// The oldest generation of tier keys that something in the vault hangs on.
  public borrowing func neededEpoch(until deadline: Int) throws(ControlError) -> UInt32 {
    try answer(ControlPacket.begin(.neededEpoch), until: deadline) {
      if case .neededEpoch(let number) = $0 { number } else { nil }
    }
  }

  /// Begins a backup, on this connection, whose end is the backup's.
  ///
  /// - Returns: the number of the prompt that the passphrase answers.
  public borrowing func beginBackup(until deadline: Int) throws(ControlError) -> UInt64 {
    try answer(ControlPacket.begin(.beginBackup), until: deadline) {
      if case .archiveOpened(let number) = $0 { number } else { nil }
    }
  }

  /// Begins a restore in the same way.
  public borrowing func beginRestore(_ request: RestoreRequest, until deadline: Int) throws(ControlError) -> UInt64 {
    var out = ControlPacket.begin(.beginRestore)
    request.encode(into: &out)
    return try answer(out, until: deadline) { if case .archiveOpened(let number) = $0 { number } else { nil } }
  }

  /// The next bytes of the backup.
  public borrowing func takeChunk(until deadline: Int) throws(ControlError) -> ArchiveChunk {
    try answer(ControlPacket.begin(.takeChunk), until: deadline) {
      if case .chunk(let chunk) = $0 { chunk } else { nil }
    }
  }

  /// Hands the next chunk of the backup over, without its length.
  ///
  /// - Returns: whether it was the last one.
  public borrowing func giveChunk(_ chunk: [UInt8], until deadline: Int) throws(ControlError) -> Bool {
    var out = ControlPacket.begin(.giveChunk)
    out.put(chunk)
    return try answer(out, until: deadline) { if case .chunkTaken(let isLast) = $0 { isLast } else { nil } }
  }

  /// What became of everything. The first call ends a restore: then it is done.
  public borrowing func archiveReport(until deadline: Int) throws(ControlError) -> ArchiveReport {
    var lines: [ArchiveReport.Line] = []
    while true {
      var out = ControlPacket.begin(.archiveReport)
      out.number(UInt64(lines.count))
      let page = try answer(out, until: deadline) { if case .archiveReport(let page) = $0 { page } else { nil } }
      lines += page.report.lines
      guard page.hasMore, !page.report.lines.isEmpty else {
        var report = page.report
        report.lines = lines
        return report
      }
    }
  }
}
