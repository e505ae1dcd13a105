import Foundation
import LatchkeyPosix
import LatchkeyScratch
import Testing

@Suite("Writing to a descriptor of another process")
struct OutletTests {
  /// The two ends of a pipe or of a connected socket. The second end is for writing, and only the test closes both ends.
  private struct Ends {
    let reading: Int32
    let writing: Int32

    init(_ make: (UnsafeMutablePointer<Int32>) -> Int32) {
      var ends: [Int32] = [-1, -1]
      precondition(make(&ends) == 0)
      (reading, writing) = (ends[0], ends[1])
    }
  }

  /// An outlet as a message brings it: our own descriptor for the other process's file.
  private static func outlet(_ number: Int32) throws -> Outlet {
    try Outlet(FileDescriptor(owning: dup(number)))
  }

  /// Writes until the pipe or socket is full.
  private static func fill(_ outlet: Outlet) throws -> Int {
    var total = 0
    while true {
      let count = try outlet.write([UInt8](repeating: 7, count: 4096).span.bytes)
      if count == 0 { return total }
      total += count
    }
  }

  @Test("A full pipe accepts no more, and makes nobody wait", .timeLimit(.minutes(20)))
  func fullPipe() throws {
    let ends = Ends { pipe($0) }
    let outlet = try Self.outlet(ends.writing)
    #expect(try Self.fill(outlet) >= 4096)
    #expect(fcntl(ends.writing, F_GETFL) & O_NONBLOCK == 0, "the other process's end is as it was")
    var buffer = [UInt8](repeating: 0, count: 4096)
    #expect(read(ends.reading, &buffer, 4096) == 4096)
    #expect(try outlet.write([UInt8](repeating: 1, count: 3).span.bytes) == 3)
    close(ends.reading)
    close(ends.writing)
  }

  @Test("A full socket accepts no more", .timeLimit(.minutes(20)))
  func fullSocket() throws {
    let ends = Ends { socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, $0) }
    let outlet = try Self.outlet(ends.writing)
    #expect(try Self.fill(outlet) > 0)
    #expect(fcntl(ends.writing, F_GETFL) & O_NONBLOCK == 0, "the other process's end is as it was")
    close(ends.reading)
    // A child that another test has just forked also has the descriptor, until it executes its program.
    var hangUp = pollfd(fd: ends.writing, events: 0, revents: 0)
    #expect(poll(&hangUp, 1, 60_000) == 1)
    #expect(throws: PosixError("write", code: EPIPE)) { try outlet.write([1].span.bytes) }
    close(ends.writing)
  }

  @Test("A pipe without a reader is an error, and does not end the process")
  func brokenPipe() async {
    await #expect(processExitsWith: .success) {
      LatchkeyPosix.Process.ignoreBrokenPipes()
      let ends = Ends { pipe($0) }
      let outlet = try OutletTests.outlet(ends.writing)
      close(ends.reading)
      do throws(PosixError) { _ = try outlet.write([1].span.bytes) } catch { exit(error.code == EPIPE ? 0 : 2) }
      exit(3)
    }
  }

  @Test("A file, and the reading end of a pipe, are refused")
  func refused() throws {
    let folder = try ScratchFolder()
    try folder.put("file", [])
    let file = open(folder.file("file"), O_WRONLY)
    let ends = Ends { pipe($0) }
    #expect(throws: PosixError("write", code: EINVAL)) { try Self.outlet(file) }
    #expect(throws: PosixError("write", code: EBADF)) { try Self.outlet(ends.reading) }
    for number in [file, ends.reading, ends.writing] { close(number) }
  }

  @Test("A network connection is refused, and its closing does not wait")
  func network() throws {
    let stream = Int32(SOCK_STREAM.rawValue)
    let connection = socket(AF_INET, stream, 0)
    var wait = linger(l_onoff: 1, l_linger: 3600)
    let size = socklen_t(MemoryLayout<linger>.size)
    #expect(setsockopt(connection, SOL_SOCKET, SO_LINGER, &wait, size) == 0)
    #expect(throws: PosixError("write", code: EINVAL)) { try Self.outlet(connection) }
    var left = size
    #expect(getsockopt(connection, SOL_SOCKET, SO_LINGER, &wait, &left) == 0)
    #expect(wait.l_onoff == 0)
    close(connection)
  }
}
