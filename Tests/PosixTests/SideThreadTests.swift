import Glibc
import LatchkeyPosix
import Synchronization
import Testing

@Suite("A thread beside one that waits")
struct SideThreadTests {
  private final class Trace: Sendable {
    let hasEnded = Atomic(false)
    let wasTold = Atomic(false)
  }

  @Test("It is told to end, and waited for")
  func end() throws {
    let trace = Trace()
    var thread = SideThread { end in
      var wait = pollfd(fd: end, events: Int16(POLLIN), revents: 0)
      trace.wasTold.store(poll(&wait, 1, -1) == 1, ordering: .relaxed)
      usleep(50_000)
      trace.hasEnded.store(true, ordering: .relaxed)
    }
    #expect(thread != nil && !trace.hasEnded.load(ordering: .relaxed))
    thread = nil
    #expect(trace.wasTold.load(ordering: .relaxed) && trace.hasEnded.load(ordering: .relaxed))
  }

  @Test("One that has ended by itself is no hindrance")
  func ended() {
    for _ in 0..<100 { _ = SideThread { _ in } }
  }
}
