import Foundation
import Glibc
import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyControl
@testable import LatchkeyPosix

/// A client and a server over a real socket.
@Suite final class SocketTests {
  private let runtime: String
  private let path: String
  private let listener: LocalSocket

  init() throws {
    try Sodium.initialize()
    runtime = "/tmp/control-tests-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(
      atPath: ControlSocket.folder(runtime: runtime), withIntermediateDirectories: true)
    path = ControlSocket.path(runtime: runtime)
    listener = try LocalSocket.listen(at: path)
  }

  deinit { try? FileManager.default.removeItem(atPath: runtime) }

  private func connected() throws -> Pair {
    let client = try LocalSocket.connect(to: path)
    guard let accepted = try listener.accept(), let connection = ControlConnection(accepted) else { throw Unread() }
    return Pair(client, connection)
  }

  private static func delivery() throws -> TierDelivery {
    TierDelivery(
      vault: Array(1...16), generation: 0x0102_0304_0506_0708, created: true,
      tiers: TierKeys(
        unlocked: try Key(copying: [UInt8](repeating: 0xA, count: 32).span.bytes),
        session: try Key(copying: [UInt8](repeating: 0xC, count: 32).span.bytes)))
  }

  @Test func keysArriveWhole() throws {
    let pair = try connected()
    let packet = try UnlockWithTiers(SocketTests.delivery()).packet()
    #expect(packet.count == 91)
    try pair.sendSealed(packet)
    #expect(pair.receive() == .keys)
  }

  @Test func everyOtherSizeOfKeysIsMalformed() throws {
    let pair = try connected()
    for size in [0, 1, 88, 90, 3000] {
      try pair.send(([2, 2] + [UInt8](repeating: 1, count: size)).span.bytes)
      try #require(pair.receive() == .malformed)
    }
  }

  @Test func nothingAndTheEndAreTold() throws {
    let pair = try connected()
    #expect(pair.receive() == .nothing)
    pair.client = nil
    #expect(pair.receive() == .ended)
  }

  @Test func anOversizedPacketEndsTheConnection() throws {
    let pair = try connected()
    // A chunk of a backup may be this long, but this packet is no chunk.
    try pair.send([UInt8](repeating: 1, count: 20_000).span.bytes)
    try #require(pair.receive() == .malformed)
    try pair.send([UInt8](repeating: 1, count: ControlPacket.sizeLimit + 1).span.bytes)
    #expect(pair.receive() == .ended)
  }

  @Test func alteredRequestsNeverTrap() throws {
    let pair = try connected()
    var random = SystemRandomNumberGenerator()
    let hello = Hello(stage: .authenticate, service: "i3lock", tty: "tty7", remoteHost: "")
    let packets = [hello.packet, [2, 2] + [UInt8](repeating: 7, count: 89), [2, 3], [2, 4]]
    for turn in 0..<20_000 {
      var bytes = packets[turn % packets.count]
      bytes[Int.random(in: bytes.indices, using: &random)] = .random(in: 0...255, using: &random)
      bytes.removeLast(.random(in: 0..<bytes.count, using: &random))
      try pair.send(bytes.span.bytes)
      let arrived = pair.receive()
      try #require(arrived == .request || arrived == .malformed)
    }
  }

  private func isTaken(_ path: String) -> Bool {
    do { _ = try LocalSocket.connect(to: path) } catch { return error.code != ECONNREFUSED }
    return true
  }

  @Test func thePeerIsWhoConnected() throws {
    let pair = try connected()
    #expect(pair.peer == LocalSocket.Peer(pid: getpid(), uid: geteuid()))
  }

  @Test func aSecondDaemonIsToldWhyItCannotListen() throws {
    #expect(throws: ControlSocket.Failure.isServed(path: path)) {
      _ = try ControlSocket.listen(runtime: runtime, owner: getuid())
    }
    let other = runtime + "/other"
    try FileManager.default.createDirectory(
      atPath: ControlSocket.folder(runtime: other), withIntermediateDirectories: true)
    let file = ControlSocket.path(runtime: other)
    try Data("text".utf8).write(to: URL(fileURLWithPath: file))
    #expect(throws: ControlSocket.Failure.isOtherFile(path: file)) {
      _ = try ControlSocket.listen(runtime: other, owner: getuid())
    }
    unlink(file)
    #expect(throws: ControlSocket.Failure.system(PosixError("folder", code: EPERM))) {
      _ = try ControlSocket.listen(runtime: other, owner: getuid() + 1)
    }
    extendLifetime(try ControlSocket.listen(runtime: other, owner: getuid()))
  }

  @Test func aSecondListenerIsRefusedAndAnAbandonedSocketReplaced() throws {
    #expect(throws: PosixError("bind", code: EADDRINUSE)) { _ = try LocalSocket.listen(at: path) }
    let other = path + "2"
    _ = try LocalSocket.listen(at: other)  // The socket is closed at once.
    // A child that another test has just forked may hold the socket until it executes its program.
    while isTaken(other) { usleep(1000) }
    let again = try LocalSocket.listen(at: other)
    var file = stat()
    #expect(lstat(other, &file) == 0 && file.st_mode & 0o7777 == 0o600)
    try Data("text".utf8).write(to: URL(fileURLWithPath: path + "3"))
    #expect(throws: PosixError("bind", code: EADDRINUSE)) { _ = try LocalSocket.listen(at: path + "3") }
    #expect(try Data(contentsOf: URL(fileURLWithPath: path + "3")) == Data("text".utf8))
    extendLifetime(again)
  }

  @Test func onlyAPacketSocketIsTakenOver() throws {
    var pair: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
    let (first, second) = (pair[0], pair[1])
    #expect(throws: PosixError("socket", code: EINVAL)) { _ = try LocalSocket(owning: FileDescriptor(owning: first)) }
    close(second)
    let copy = dup(listener.number)
    let adopted = try LocalSocket(owning: FileDescriptor(owning: copy))
    #expect(fcntl(adopted.number, F_GETFD) == FD_CLOEXEC)
    guard try adopted.accept() == nil else { throw Unread() }
  }

  @Test func theClientGoesToNoLinkAndNoStranger() throws {
    let other = runtime + "/other"
    try FileManager.default.createDirectory(atPath: other, withIntermediateDirectories: true)
    #expect(throws: ControlError.noDaemon) { _ = try ControlClient(runtime: other, uid: geteuid()) }
    try FileManager.default.createSymbolicLink(
      atPath: ControlSocket.folder(runtime: other), withDestinationPath: ControlSocket.folder(runtime: runtime))
    _ = try ControlClient(runtime: other, uid: geteuid())  // A link on the way does no harm.
    try FileManager.default.removeItem(atPath: ControlSocket.folder(runtime: other))
    try FileManager.default.createDirectory(
      atPath: ControlSocket.folder(runtime: other), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: ControlSocket.path(runtime: other), withDestinationPath: path)
    #expect(throws: ControlError.strangeDaemon) { _ = try ControlClient(runtime: other, uid: geteuid()) }
    if geteuid() != 0 {
      #expect(throws: ControlError.strangeDaemon) { _ = try ControlClient(runtime: runtime, uid: geteuid() + 1) }
    }
  }

  @Test func aDaemonThatDoesNotAnswerIsSilent() throws {
    let client = try ControlClient(runtime: runtime, uid: geteuid())
    let begun = LatchkeyPosix.Process.now
    #expect(throws: ControlError.silent) { _ = try client.ask(GetStatus(), until: begun + 100) }
    #expect((100..<60_000).contains(LatchkeyPosix.Process.now - begun))
  }
}

/// Both ends of one connection.
private final class Pair {
  final class Client {
    let socket: LocalSocket
    init(_ socket: consuming LocalSocket) { self.socket = socket }
  }

  var client: Client?
  let peer: LocalSocket.Peer
  private var connection: ControlConnection

  init(_ client: consuming LocalSocket, _ connection: consuming ControlConnection) {
    self.client = Client(client)
    peer = connection.peer
    self.connection = connection
  }

  func send(_ packet: RawSpan) throws {
    try client?.socket.send(packet)
  }

  enum Arrived { case nothing, ended, malformed, keys, request }

  func receive() -> Arrived {
    switch connection.receive() {
    case .nothing: return .nothing
    case .malformed: return .malformed
    case .otherVersion: return .malformed
    case .ended: return .ended
    case .packet(let packet): return take(packet)
    }
  }

  private func take(_ packet: consuming ArrivedPacket) -> Arrived {
    guard packet.operation != UnlockWithTiers.operation else {
      return packet.keys(UnlockWithTiers.self) == nil ? .malformed : .keys
    }
    return Reading.isMessage(packet) ? .request : .malformed
  }

  func sendSealed(_ packet: borrowing SecureBytes) throws {
    let publicKey = try connection.makeOneTimeKey().bytes
    let sealed = try OneTimeKey.seal(packet, to: publicKey)
    try send(sealed.span.bytes)
  }
}
