import LatchkeySystemd
import Testing

@testable import LatchkeyPrompters

@Suite("A prompt waits")
struct PromptDeadlineTests {
  @Test("A prompt waits until the loop's handlers say that it is done")
  func done() throws {
    let loop = try EventLoop()
    let deadline = PromptDeadline(loop: loop, limit: .seconds(600))
    var turns = 0
    let idle = try loop.addIdle {
      turns += 1
      return true
    }
    #expect(deadline.wait { turns == 3 })
    #expect(deadline.wait(atMost: .zero) { true } && !deadline.isOver)
    idle.cancel()
  }

  @Test("A prompt waits for a program until the program's limit, and then for others")
  func limit() throws {
    let deadline = PromptDeadline(loop: try EventLoop(), limit: .seconds(600))
    #expect(!deadline.wait(atMost: .milliseconds(1)) { false })
    #expect(!deadline.isOver && deadline.wait { true })
  }

  @Test("A prompt waits for a person until the timeout, and then for nobody")
  func end() throws {
    let deadline = PromptDeadline(loop: try EventLoop(), limit: .milliseconds(1))
    #expect(!deadline.wait { false } && deadline.isOver && deadline.isExpired)
    #expect(!deadline.wait(atMost: .seconds(600)) { false })
  }

  @Test("A prompt waits no longer once nobody wants the answer")
  func giveUp() throws {
    let loop = try EventLoop()
    let deadline = PromptDeadline(loop: loop, limit: .seconds(600))
    let idle = try loop.addIdle {
      deadline.giveUp()
      return false
    }
    #expect(!deadline.wait { false } && deadline.isOver && !deadline.isExpired)
    // A later timeout does not change the end.
    deadline.expire()
    #expect(!deadline.isExpired)
    idle.cancel()
  }
}
