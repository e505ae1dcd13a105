import Glibc
import Prompts
import Testing

@Suite("A caller", .serialized) struct CallerTests {
  /// Gives this process a name.
  private func call(_ name: String) throws {
    let file = try #require(fopen("/proc/self/comm", "w"))
    fputs(name, file)
    fclose(file)
  }

  // The last begins a character that the bracket after it would belong to.
  @Test(arguments: ["mail", "a b", "x) S 1 1 1 1025", ")(", ")0 0 0 0 1025\u{600}"])
  func isCalledWhatItIsCalled(_ name: String) throws {
    let before = Caller(pid: getpid())
    try call(name)
    let caller = Caller(pid: getpid())
    try call(before.name)
    #expect(caller.name == name)
    #expect(caller.terminal == before.terminal)
  }

  @Test func isUnknownWhenItIsGone() {
    #expect(Caller(pid: Int32.max) == .unknown)
  }
}
