import Glibc
import LatchkeyPosix
import Testing

@testable import LatchkeyDeviceService

@Suite("The limit for the device key service in one turn")
struct TurnLimitTests {
  /// A pipe that becomes readable once the test writes to it.
  private final class Others {
    let read: Int32
    let write: Int32

    init() {
      var ends: [Int32] = [0, 0]
      _ = pipe(&ends)
      (read, write) = (ends[0], ends[1])
    }

    func come() { _ = Glibc.write(write, "x", 1) }
    deinit {
      close(read)
      close(write)
    }
  }

  /// The end of a wait for a socket that receives nothing.
  private func end(_ deadline: Deadline) throws -> Int32 {
    var ends: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
    defer { close(ends[1]) }
    let socket = try LocalSocket(owning: FileDescriptor(owning: ends[0]))
    do { try socket.waitForPacket(until: deadline) } catch { return error.code }
    return 0
  }

  @Test("the wait ends when other work comes, and the rest of the turn does not wait")
  func interrupted() throws {
    let others = Others()
    let limit = TurnLimit(turn: { 1 }, others: others.read)
    others.come()
    let begin = Process.now
    #expect(try end(limit.begin(until: begin + 60_000)) == ECANCELED)
    limit.end()
    let again = try limit.begin(until: begin + 60_000)
    #expect(throws: PosixError("connect", code: ECANCELED)) {
      _ = try LocalSocket.connect(to: "/nowhere", until: again)
    }
  }

  @Test("all requests of a turn share one limit, and the next turn has another")
  func turns() throws {
    let others = Others()
    var turn: UInt64 = 1
    let limit = TurnLimit(turn: { turn }, others: others.read)
    limit.isSilent = true
    #expect(try end(limit.begin(until: Process.now + 60_000)) == ETIMEDOUT)
    limit.end()
    #expect(throws: ServiceDeviceKey.silent) { _ = try limit.begin(until: Process.now + 60_000) }
    turn = 2
    #expect(try limit.begin(until: Process.now + 60_000).time > Process.now - 60_000)
  }

  @Test("other work interrupts no wait before the loop runs")
  func start() throws {
    let others = Others()
    others.come()
    let limit = TurnLimit(turn: { nil }, others: others.read)
    #expect(try end(limit.begin(until: Process.now + 200)) == ETIMEDOUT)
  }
}
