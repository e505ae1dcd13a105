import LatchkeyControl
import LatchkeyPosix
import LatchkeySessionState

/// The handler of each message of the control socket. The part of the daemon that serves a message adds its row. An answer may come
/// later, but it must come, because the peer's next packet waits for it.
struct ControlTable {
  /// The handler of one message.
  struct Row {
    /// Whether a helper that sends this message is still working on a password.
    let keepsDeriving: Bool
    let serve: (consuming ArrivedPacket, ControlPeer) -> Void
  }

  private var rows: [UInt8: Row] = [:]
  private let mayDerive: MayDerive

  /// Whether a helper in the process of a peer may work on a password without a ``Hello``: the claim that may make the helper
  /// unwanted, or the reason against the work.
  typealias MayDerive = (LocalSocket.Peer, @escaping (Result<Claim, Refusal>) -> Void) -> Void

  init(mayDerive: @escaping MayDerive) {
    self.mayDerive = mayDerive
    answer(MakeOneTimeKey.self, keepsDeriving: true) { _, peer throws(Refusal) in try peer.makeOneTimeKey() }
  }

  func row(for operation: UInt8) -> Row? { rows[operation] }

  private mutating func add(
    _ operation: UInt8, keepsDeriving: Bool = false, _ serve: @escaping (consuming ArrivedPacket, ControlPeer) -> Void
  ) {
    precondition(rows[operation] == nil, "two rows for one message")
    rows[operation] = Row(keepsDeriving: keepsDeriving, serve: serve)
  }

  /// The packet that answers or declines a message.
  private static func packet<Message: ControlMessage>(
    _: Message.Type, _ answer: () throws(Refusal) -> Message.Answer
  ) -> [UInt8] {
    do throws(Refusal) { return Message.packet(answering: try answer()) } catch {
      return ControlPacket.declined(error.reason)
    }
  }

  /// Adds a message that is answered at once.
  mutating func answer<Message: ControlMessage>(
    _: Message.Type, keepsDeriving: Bool = false,
    by body: @escaping (Message, ControlPeer) throws(Refusal) -> Message.Answer
  ) {
    add(Message.operation, keepsDeriving: keepsDeriving) { packet, peer in
      guard let message = packet.message(Message.self) else { return peer.end() }
      peer.send(Self.packet(Message.self) { () throws(Refusal) in try body(message, peer) })
    }
  }

  /// Adds a message that is answered later, by the closure that `body` gets.
  mutating func answerLater<Message: ControlMessage>(
    _: Message.Type, keepsDeriving: Bool = false,
    by body: @escaping (Message, ControlPeer, @escaping (Result<Message.Answer, Refusal>) -> Void) -> Void
  ) {
    add(Message.operation, keepsDeriving: keepsDeriving) { packet, peer in
      guard let message = packet.message(Message.self) else { return peer.end() }
      body(message, peer) { [weak peer] result in
        peer?.send(Self.packet(Message.self) { () throws(Refusal) in try result.get() })
      }
    }
  }

  /// Adds a message whose answer makes a helper work on a password.
  mutating func answerHelper<Message: ControlMessage>(
    _: Message.Type, by body: @escaping (Message) throws(Refusal) -> Message.Answer
  ) {
    add(Message.operation) { [mayDerive] packet, peer in
      guard let message = packet.message(Message.self) else { return peer.end() }
      // This ends a former greeting, so keys of an authentication need a new hello.
      (peer.greeting, peer.claim) = (nil, nil)
      mayDerive(peer.credentials) { [weak peer] result in
        guard let peer else { return }
        let packet = Self.packet(Message.self) { () throws(Refusal) in
          let claim = try result.get()
          let answer = try body(message)
          peer.claim = claim
          peer.beginsDeriving()
          return answer
        }
        peer.send(packet)
      }
    }
  }

  /// Adds a message without an answer.
  mutating func take<Message: ControlMessage>(
    _: Message.Type, by body: @escaping (Message, ControlPeer) -> Void
  ) where Message.Answer == NoAnswer {
    add(Message.operation) { packet, peer in
      guard let message = packet.message(Message.self) else { return peer.end() }
      body(message, peer)
    }
  }

  /// Adds a message with keys, which is answered later, by the closure that `body` gets.
  mutating func takeKeys<Message: KeyMessage & ~Copyable>(
    _: Message.Type, by body: @escaping (consuming Message, ControlPeer, @escaping (UnlockOutcome) -> Void) -> Void
  ) {
    add(Message.operation) { (packet: consuming ArrivedPacket, peer) in
      guard let message = packet.keys(Message.self) else { return peer.end() }
      body(message, peer) { [weak peer] in peer?.answer($0) }
    }
  }
}
