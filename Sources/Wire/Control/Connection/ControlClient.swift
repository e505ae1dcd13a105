import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// One connection to the daemon, from the helper or the command line.
public struct ControlClient: ~Copyable {
  private let socket: LocalSocket

  /// Connects to the daemon of the user `uid`.
  ///
  /// - Throws: ``ControlError/noDaemon``; ``ControlError/strangeDaemon`` if the socket is a link or belongs to another user, and
  ///   then nothing is sent; ``ControlError/silent`` if too many connections wait for the daemon.
  public init(runtime: String, uid: uid_t) throws(ControlError) {
    // This check finds mistakes only, because the file could be replaced a moment later. Later the kernel tells which user listens
    // at the other end.
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

  /// Sends a message, and waits for the answer.
  ///
  /// - Parameter deadline: in milliseconds on the clock of `Process.now`.
  /// - Throws: ``ControlError/declined(_:)`` with the reason; ``ControlError/silent`` at the deadline; ``ControlError/broken``.
  package borrowing func ask<Message: ControlMessage>(
    _ message: Message, until deadline: Int
  ) throws(ControlError) -> Message.Answer {
    try Message.answer(in: try exchange(message.packet, until: deadline))
  }

  /// Sends a message whose only answer is that the daemon has done it.
  package borrowing func ask<Message: ControlMessage>(
    _ message: Message, until deadline: Int
  ) throws(ControlError) where Message.Answer == Done {
    let _: Done = try ask(message, until: deadline)
  }

  /// Sends a message that has no answer.
  package borrowing func tell<Message: ControlMessage>(
    _ message: Message
  ) throws(ControlError) where Message.Answer == NoAnswer {
    do { try socket.send(message.packet.span.bytes) } catch { throw .broken }
  }

  /// Delivers keys, sealed to a key that the daemon makes for them.
  package borrowing func deliver<Message: KeyMessage & ~Copyable>(
    _ message: consuming Message, until deadline: Int
  ) throws(ControlError) -> UnlockOutcome {
    let packet = try ControlClient.sodium { () throws(SodiumError) in try message.packet() }
    let publicKey = try ask(MakeOneTimeKey(), until: deadline).bytes
    let sealed = try ControlClient.sodium { () throws(SodiumError) in try OneTimeKey.seal(packet, to: publicKey) }
    do throws(ControlError) {
      return try UnlockOutcome(decodingAnswer: try exchange(sealed, until: deadline), of: UnlockOutcome.operation)
    } catch {
      // A refusal comes inside the outcome, so a declined message is an error.
      if case .declined = error { throw .broken }
      throw error
    }
  }

  /// Sends a message, and does not wait for the answer. When ``number`` is readable, ``answer(to:until:)`` takes the answer.
  package borrowing func begin<Message: ControlMessage>(_ message: Message) throws(ControlError) {
    do { try socket.send(message.packet.span.bytes) } catch { throw .broken }
  }

  /// Takes the answer to a message that ``begin(_:)`` has sent.
  package borrowing func answer<Message: ControlMessage>(
    to _: Message.Type, until deadline: Int
  ) throws(ControlError) -> Message.Answer {
    try Message.answer(in: try receive(until: deadline))
  }

  private borrowing func exchange(_ packet: [UInt8], until deadline: Int) throws(ControlError) -> [UInt8] {
    do { try socket.send(packet.span.bytes) } catch { throw .broken }
    return try receive(until: deadline)
  }

  private borrowing func receive(until deadline: Int) throws(ControlError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: ControlPacket.sizeLimit)
    let count: Int
    do {
      try socket.waitForPacket(until: deadline)
      count = try socket.receive(into: &bytes) ?? 0
    } catch { throw error.code == ETIMEDOUT ? .silent : .broken }
    switch (count, bytes[1]) {
    case (ControlPacket.headSize, ControlPacket.otherVersion): throw .otherVersion
    case (ControlPacket.headSize, ControlPacket.giveWay): throw .givesWay
    default: return Array(bytes.prefix(count))
    }
  }

  /// Asks a daemon that answered ``ControlError/givesWay`` on this connection to end, and waits for its end. The service manager
  /// starts the installed daemon at the next connection.
  ///
  /// - Throws: ``ControlError/otherVersion`` if the daemon does not end.
  public borrowing func replaceDaemon(until deadline: Int) throws(ControlError) {
    do throws(ControlError) { _ = try exchange(ControlPacket.thatGivesWay, until: deadline) } catch {
      guard error == .givesWay else { throw error }
      // The daemon sends nothing more on this connection, and keeps it until its process ends.
      do throws(PosixError) { return try socket.waitForPacket(until: deadline) } catch { throw .silent }
    }
    throw .broken
  }

  /// Does long work on a password. The daemon ends this connection if it no longer wants keys from this authentication. Then
  /// SIGTERM ends this process.
  ///
  /// From then on the connection lasts as long as the process. So when the connection ends, the daemon knows that the process has
  /// erased its memory.
  public borrowing func derive<Result: ~Copyable>(
    _ body: () throws(KeybagError) -> Result
  ) throws(KeybagError) -> Result {
    socket.keepUntilProcessEnds()
    guard socket.endProcessOnInput(true) else { throw .overtaken }
    defer { _ = socket.endProcessOnInput(false) }
    return try body()
  }

  /// Runs a function of libsodium. If it fails, for example because a packet cannot be decrypted, there is no answer.
  static func sodium<Result: ~Copyable>(
    _ body: () throws(SodiumError) -> Result
  ) throws(ControlError) -> Result {
    do { return try body() } catch { throw .broken }
  }

  /// The descriptor, for an event loop. It becomes readable when the daemon has answered, or has withdrawn the prompt of this
  /// connection.
  public var number: Int32 { socket.number }
}
