import Glibc
import LatchkeyPosix
import Testing

@Suite("Pipes that are erased")
struct PipeTests {
  @Test("Erased pipes have no data left, read or unread, and can be used again")
  func erase() throws {
    for isRead in [true, false] {
      var end: Int32 = -1
      let pipe = try FileDescriptor.pipeOfOnePage {
        end = dup($0)
        #expect(write(end, "secret", 6) == 6)
      }
      var bytes = [UInt8](repeating: 0, count: 16)
      if isRead { #expect(read(pipe.number, &bytes, 3) == 3) }
      // If a program waits for input, the pipe is in this state.
      #expect(fcntl(pipe.number, F_SETFL, 0) == 0)
      pipe.erasePipe()
      #expect(read(pipe.number, &bytes, 16) == -1 && errno == EAGAIN)
      #expect(write(end, "more", 4) == 4 && read(pipe.number, &bytes, 16) == 4)
      close(end)
    }
  }
}
