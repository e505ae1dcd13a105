import Foundation
import Glibc
import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyControl
@testable import LatchkeyPosix

/// Prompts and passphrases over a real socket, between a real client and a real server.
@Suite final class PromptSocketTests {
  private let runtime: String
  private let listener: LocalSocket
  private let soon = LatchkeyPosix.Process.now + 60_000

  init() throws {
    try Sodium.initialize()
    runtime = "/tmp/control-tests-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(
      atPath: ControlSocket.folder(runtime: runtime), withIntermediateDirectories: true)
    listener = try LocalSocket.listen(at: ControlSocket.path(runtime: runtime))
  }

  deinit { try? FileManager.default.removeItem(atPath: runtime) }

  /// Both ends of the socket. The daemon may answer before the question, because the answer waits in the socket.
  private final class Ends: @unchecked Sendable {
    let client: ControlClient
    var connection: ControlConnection
    /// The key that ``serve(_:)`` received.
    private(set) var arrived: (prompt: UInt64, key: [UInt8])?
    private let isServed = DispatchSemaphore(value: 0)

    init(runtime: String, listener: borrowing LocalSocket) throws {
      client = try ControlClient(runtime: runtime, uid: geteuid())
      guard let accepted = try listener.accept(), let connection = ControlConnection(accepted) else { throw Unread() }
      self.connection = connection
    }

    /// Serves one delivery as the daemon does, on a thread of its own.
    func serve(_ outcome: UnlockOutcome) {
      Thread.detachNewThread { [self] in
        defer { isServed.signal() }
        for _ in 0..<2 {
          var entry = pollfd(fd: connection.number, events: Int16(POLLIN), revents: 0)
          _ = poll(&entry, 1, 5000)
          switch connection.receive() {
          case .nothing: return
          case .malformed: return
          case .otherVersion: return
          case .ended: return
          case .packet(let packet): answer(packet, outcome)
          }
        }
      }
    }

    private func answer(_ packet: consuming ArrivedPacket, _ outcome: UnlockOutcome) {
      switch packet.operation {
      case MakeOneTimeKey.operation:
        guard let key = try? connection.makeOneTimeKey() else { return }
        try? connection.send(MakeOneTimeKey.packet(answering: key))
      case PassphraseKey.operation:
        guard let key = packet.keys(PassphraseKey.self) else { return }
        arrived = (key.prompt, key.key.bytes.withUnsafeBytes { Array($0) })
        try? connection.send(outcome.packet)
      default: break
      }
    }

    /// The next message.
    func message<Message: ControlMessage>(_: Message.Type = Message.self) throws -> Message {
      guard case .packet(let packet) = connection.receive(), let message = packet.message(Message.self) else {
        throw Unread()
      }
      return message
    }

    func wait() { isServed.wait() }
  }

  private func connected() throws -> Ends { try Ends(runtime: runtime, listener: listener) }

  @Test func aPromptIsTakenOn() throws {
    let ends = try connected()
    try ends.connection.send(ShowPrompt.packet(answering: PromptPacketTests.request))
    #expect(try ends.client.ask(ShowPrompt(0x0102_0304_0506_0708), until: soon) == PromptPacketTests.request)
    #expect(try ends.message(ShowPrompt.self).number == 0x0102_0304_0506_0708)
  }

  @Test(arguments: [PromptEnd.granted, .dismissed, .unavailable, .refused, .expired])
  func theEndOfAPromptHasNoAnswer(outcome: PromptEnd) throws {
    let ends = try connected()
    try ends.client.tell(EndPrompt(outcome))
    #expect(try ends.message(EndPrompt.self).end == outcome)
  }

  @Test func aDerivationIsTold() throws {
    let ends = try connected()
    let derivation = PassphraseDerivation.make()
    try ends.connection.send(GetDerivation.packet(answering: derivation))
    #expect(try ends.client.ask(GetDerivation(prompt: .max, given: 1), until: soon) == derivation)
    #expect(try ends.message(GetDerivation.self).prompt == .max)
  }

  @Test(arguments: [UnlockOutcome.live, .staged, .wrongKeys, .refused(.verbatim("why")), .unusable(.verbatim("how"))])
  func aKeyArrivesWhole(outcome: UnlockOutcome) throws {
    let ends = try connected()
    ends.serve(outcome)
    #expect(try ends.client.deliver(try PromptSocketTests.key(), until: soon) == outcome)
    ends.wait()
    #expect(ends.arrived?.prompt == 0x0102_0304_0506_0708)
    #expect(ends.arrived?.key == Array(1...32))
  }

  @Test(arguments: [PromptRequest.Purpose.login, .collection, .newPassphrase])
  func aPromptOfOnesOwnIsMade(purpose: PromptRequest.Purpose) throws {
    let ends = try connected()
    try ends.connection.send(
      OpenPrompt.packet(answering: OpenedPrompt(number: 7, request: PromptPacketTests.request)))
    let opened = try ends.client.ask(OpenPrompt(purpose, collection: "Büro"), until: soon)
    #expect(opened.number == 7 && opened.request == PromptPacketTests.request)
    let told = try ends.message(OpenPrompt.self)
    #expect(told.purpose == purpose && told.collection == "Büro")
  }

  @Test func aPassphraseIsRemoved() throws {
    let ends = try connected()
    try ends.connection.send(RemovePassphrase.packet(answering: Done()))
    try ends.client.ask(RemovePassphrase(collection: "Büro"), until: soon)
    #expect(try ends.message(RemovePassphrase.self).collection == "Büro")
  }

  @Test func longNamesAreCut() throws {
    let ends = try connected()
    let long = String(repeating: "ü", count: 5000)
    let cut = String(repeating: "ü", count: 127)
    try ends.connection.send(RemovePassphrase.packet(answering: Done()))
    try ends.client.ask(RemovePassphrase(collection: long), until: soon)
    #expect(try ends.message(RemovePassphrase.self).collection == cut)
    try ends.connection.send(
      OpenPrompt.packet(answering: OpenedPrompt(number: 7, request: PromptPacketTests.request)))
    _ = try ends.client.ask(OpenPrompt(.collection, collection: long), until: soon)
    #expect(try ends.message(OpenPrompt.self).collection == cut)
  }

  @Test func whatCannotBeDoneIsToldWithItsReason() throws {
    let ends = try connected()
    for _ in 0..<4 { try ends.connection.send(ControlPacket.declined(.verbatim("why"))) }
    #expect(throws: ControlError.declined(.verbatim("why"))) { _ = try ends.client.ask(ShowPrompt(7), until: soon) }
    #expect(throws: ControlError.declined(.verbatim("why"))) {
      _ = try ends.client.ask(GetDerivation(prompt: 7, given: 1), until: soon)
    }
    #expect(throws: ControlError.declined(.verbatim("why"))) {
      _ = try ends.client.ask(OpenPrompt(.collection, collection: "a"), until: soon)
    }
    #expect(throws: ControlError.declined(.verbatim("why"))) {
      try ends.client.ask(RemovePassphrase(collection: "a"), until: soon)
    }
  }

  @Test func anotherAnswerIsNone() throws {
    let ends = try connected()
    for _ in 0..<5 { try ends.connection.send(LockVault.packet(answering: Done())) }
    #expect(throws: ControlError.broken) { _ = try ends.client.ask(ShowPrompt(7), until: soon) }
    #expect(throws: ControlError.broken) { _ = try ends.client.ask(GetDerivation(prompt: 7, given: 1), until: soon) }
    #expect(throws: ControlError.broken) {
      _ = try ends.client.ask(OpenPrompt(.collection, collection: "a"), until: soon)
    }
    #expect(throws: ControlError.broken) { try ends.client.ask(RemovePassphrase(collection: "a"), until: soon) }
    #expect(throws: ControlError.broken) { _ = try ends.client.deliver(try PromptSocketTests.key(), until: soon) }
    // An outcome answers a delivery of keys. It does not answer the question for the public key.
    try ends.connection.send(UnlockOutcome.live.packet)
    #expect(throws: ControlError.broken) { _ = try ends.client.deliver(try PromptSocketTests.key(), until: soon) }
    try ends.connection.send(ControlPacket.declined(.verbatim("why")))
    #expect(throws: ControlError.declined(.verbatim("why"))) {
      _ = try ends.client.deliver(try PromptSocketTests.key(), until: soon)
    }
    try ends.connection.send(UnlockOutcome.live.packet)
    #expect(throws: ControlError.broken) { _ = try ends.client.ask(GetDerivation(prompt: 7, given: 1), until: soon) }
  }

  @Test func requestsOfAnotherSizeAreMalformed() throws {
    let (client, connection) = try bare()
    for whole in PromptSocketTests.requests() {
      try client.send(whole)
      try #require(connection.receive() == .message, "\(whole)")
      for count in 1..<whole.count {
        try client.send(Array(whole.prefix(count)))
        try #require(connection.receive() == .malformed)
      }
      try client.send(whole + [0])
      try #require(connection.receive() == .malformed)
    }
  }

  @Test func requestsWithUnknownFieldsAreMalformed() throws {
    let (client, connection) = try bare()
    let name: [UInt8] = [1, 0, 0x61]
    let long = [0, 1] + [UInt8](repeating: 0x61, count: 256)
    for bytes in [
      [2, 6, 5], [2, 6, 255], [2, 9, 0] + name, [2, 9, 200] + name, [2, 9, 1] + long, [2, 10] + long,
      [2, 16], [2, 20], [2, 0], [2, 255],
    ] {
      try client.send(bytes)
      try #require(connection.receive() == .malformed, "\(bytes)")
    }
  }

  @Test func requestsOfAnotherVersionAreNoOthers() throws {
    let (client, connection) = try bare()
    for (bytes, message) in [
      ([1, 5] + [UInt8](repeating: 0, count: 8), .prompt), ([0, 1], .hello), ([3, 253], .giveWay), ([3, 3], .other),
      ([255, 200, 7], .other),
    ] as [([UInt8], OtherVersionMessage)] {
      try client.send(bytes)
      try #require(connection.receive() == .otherVersion(message), "\(bytes)")
    }
  }

  @Test func alteredRequestsNeverTrap() throws {
    let (client, connection) = try bare()
    var random = SystemRandomNumberGenerator()
    let wholes = PromptSocketTests.requests()
    for turn in 0..<20_000 {
      var bytes = wholes[turn % wholes.count]
      bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
      bytes.removeLast(.random(in: 0..<bytes.count, using: &random))
      try client.send(bytes)
      let arrived = connection.receive()
      try #require(arrived != .nothing && arrived != .ended)
    }
  }

  /// One request of each operation.
  private static func requests() -> [[UInt8]] {
    let number: [UInt8] = [7, 0, 0, 0, 0, 0, 0, 0]
    let name: [UInt8] = [1, 0, 0x61]
    return [
      [2, 5] + number, [2, 6, 3], [2, 7] + number + number, [2, 9, 3] + name, [2, 10] + name, [2, 26] + number,
      [2, 27],
      [2, 31] + Array(1...32), [2, 33],
    ]
  }

  @Test func aKeyOfAnotherSizeIsMalformed() throws {
    let packet = try PromptSocketTests.key().packet()
    let whole = packet.bytes.withUnsafeBytes { Array($0) }
    #expect(whole == [2, 8, 8, 7, 6, 5, 4, 3, 2, 1] + Array(1...32))
    let fields = Array(whole.dropFirst(2))
    for bytes in fields.indices.map({ Array(fields.prefix($0)) }) + [fields + [0]] {
      if PassphraseKey(decoding: bytes.span.bytes) != nil { throw Unread() }
    }
  }

  private static func key() throws -> PassphraseKey {
    let bytes: [UInt8] = Array(1...32)
    return PassphraseKey(prompt: 0x0102_0304_0506_0708, key: try Key(copying: bytes.span.bytes))
  }

  /// A client that sends any bytes.
  private func bare() throws -> (Bare, Daemon) {
    let client = try LocalSocket.connect(to: ControlSocket.path(runtime: runtime))
    guard let accepted = try listener.accept(), let connection = ControlConnection(accepted) else { throw Unread() }
    return (Bare(client), Daemon(connection))
  }

  private final class Bare {
    private let socket: LocalSocket
    init(_ socket: consuming LocalSocket) { self.socket = socket }
    func send(_ packet: [UInt8]) throws { try socket.send(packet.span.bytes) }
  }

  private final class Daemon {
    private var connection: ControlConnection
    init(_ connection: consuming ControlConnection) { self.connection = connection }

    enum Arrived: Equatable {
      case nothing, ended, malformed, message
      case otherVersion(OtherVersionMessage)
    }

    func receive() -> Arrived {
      switch connection.receive() {
      case .nothing: return .nothing
      case .malformed: return .malformed
      case .otherVersion(let message): return .otherVersion(message)
      case .ended: return .ended
      case .packet(let packet):
        return Reading.isMessage(packet) ? .message : .malformed
      }
    }
  }
}
