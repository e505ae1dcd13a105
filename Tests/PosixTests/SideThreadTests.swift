import Glibc
import LatchkeyPosix
import Synchronization
import Testing

@Suite("A thread next to a waiting one")
struct SideThreadTests {
  private final class Trace: Sendable {
    let hasEnded = Atomic(false)
    let wasTold = Atomic(false)
  }

  @Test("A side thread gets the request to end, and the other thread waits for its end")
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

  @Test("A side thread has a stack for signal handlers, so that an endless recursion does not prevent the erasure")
  func signalStack() {
    let trace = Trace()
    var thread = SideThread { _ in
      var stack = stack_t()
      let isThere = sigaltstack(nil, &stack) == 0 && stack.ss_size >= 65536
      trace.hasEnded.store(isThere, ordering: .relaxed)
    }
    #expect(thread != nil)
    thread = nil
    let hasStack = trace.hasEnded.load(ordering: .relaxed)
    #expect(hasStack)
  }

  @Test("A thread that has ended by itself does no harm")
  func ended() {
    for _ in 0..<100 { _ = SideThread { _ in } }
  }
}
