import Glibc
import Testing

@testable import LatchkeyKeychainClient

@Suite("Values of one process")
struct PerProcessTests {
  @Test("A value stays, and one thread at a time has it")
  func threads() async {
    let counter = PerProcess<Int>()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask { for _ in 0..<1000 { counter.withValue { $0 = ($0 ?? 0) + 1 } } }
      }
    }
    #expect(counter.withValue { $0 } == 8000)
  }

  @Test("A child process starts without the value, even if the parent was using it")
  func fork() {
    let counter = PerProcess<Int>()
    counter.withValue { $0 = 1 }
    #expect(status { counter.withValue { $0 == nil } } == 0)
    let duringUse = counter.withValue { _ in status { counter.withValue { $0 == nil } } }
    #expect(duringUse == 0)
    #expect(counter.withValue { $0 } == 1)
  }

  /// The exit status of a forked child: 0 if the condition holds within a minute.
  private func status(_ holds: () -> Bool) -> Int32 {
    let child = Glibc.fork()
    if child == 0 {
      alarm(60)
      _exit(holds() ? 0 : 1)
    }
    var status: Int32 = -1
    waitpid(child, &status, 0)
    return status
  }
}
