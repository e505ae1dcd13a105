import LatchkeySystemd
import Testing

@testable import LatchkeyPrompters

@Suite("How long a prompt waits")
struct PatienceTests {
  @Test("until it is done, as the loop's handlers say")
  func done() throws {
    let loop = try EventLoop()
    let patience = Patience(loop: loop, limit: .seconds(600))
    var turns = 0
    let idle = try loop.addIdle {
      turns += 1
      return true
    }
    #expect(patience.wait { turns == 3 })
    #expect(patience.wait(atMost: .zero) { true } && !patience.isOver)
    idle.cancel()
  }

  @Test("for a program until its limit, and then for others")
  func limit() throws {
    let patience = Patience(loop: try EventLoop(), limit: .seconds(600))
    #expect(!patience.wait(atMost: .milliseconds(1)) { false })
    #expect(!patience.isOver && patience.wait { true })
  }

  @Test("for a person until the time is up, and then for nobody")
  func end() throws {
    let patience = Patience(loop: try EventLoop(), limit: .milliseconds(1))
    #expect(!patience.wait { false } && patience.isOver)
    #expect(!patience.wait(atMost: .seconds(600)) { false })
  }

  @Test("no longer once nobody wants the answer")
  func giveUp() throws {
    let loop = try EventLoop()
    let patience = Patience(loop: loop, limit: .seconds(600))
    let idle = try loop.addIdle {
      patience.giveUp()
      return false
    }
    #expect(!patience.wait { false } && patience.isOver)
    idle.cancel()
  }
}
