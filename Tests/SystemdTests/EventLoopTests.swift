import Foundation
import LatchkeyPrivateBus
import LatchkeySystemd
import Testing

@Suite(.timeLimit(.minutes(20))) struct EventLoopTests {
  @Test func timersFireOnceOrRepeatedly() throws {
    let loop = try EventLoop()
    var once = 0
    var often = 0
    let first = try loop.addTimer(after: .milliseconds(5)) { once += 1 }
    let second = try loop.addTimer(after: .milliseconds(5), repeating: true) { often += 1 }
    try loop.run(until: "repeated timer") { often >= 3 }
    #expect(once == 1)
    first.rearm(after: .milliseconds(1))
    try loop.run(until: "rearmed timer") { once == 2 }
    second.cancel()
    let seen = often
    try loop.run(for: .milliseconds(30))
    #expect(often == seen)
  }

  @Test func aDroppedSourceIsGoneEvenFromItsOwnHandler() throws {
    let loop = try EventLoop()
    var fired = 0
    var source: EventSource?
    source = try loop.addTimer(after: .milliseconds(1), repeating: true) {
      fired += 1
      source = nil
    }
    try loop.run(until: "timer") { fired > 0 }
    try loop.run(for: .milliseconds(30))
    #expect(fired == 1)
    #expect(source == nil)
  }

  @Test func aHandlerIsFreedWithItsSource() throws {
    final class Witness {}
    let loop = try EventLoop()
    weak var witness: Witness?
    var source: EventSource?
    do {
      let strong = Witness()
      witness = strong
      source = try loop.addTimer(after: .seconds(60)) { _ = strong }
    }
    #expect(witness != nil)
    _ = source
    source = nil
    #expect(witness == nil)
  }

  @Test func descriptorsPauseAndResume() throws {
    let loop = try EventLoop()
    let pipe = Pipe()
    let end = pipe.fileHandleForReading.fileDescriptor
    var ready = 0
    let source = try loop.addIO(fd: end, events: .readable) { events in
      if events.contains(.readable) { ready += 1 }
    }
    source.pause()
    #expect(!source.isEnabled)
    pipe.fileHandleForWriting.write(Data([1]))
    try loop.run(for: .milliseconds(20))
    #expect(ready == 0)
    source.resume()
    try loop.run(until: "readable") { ready > 0 }
  }

  @Test func idleWorkYieldsToEverythingElse() throws {
    let loop = try EventLoop()
    var turns = 0
    var turnsAtTimer: Int?
    let timer = try loop.addTimer(after: .zero) { turnsAtTimer = turns }
    let idle = try loop.addIdle {
      turns += 1
      return turns < 100
    }
    try loop.run(until: "idle work") { turns == 100 }
    #expect(try #require(turnsAtTimer) <= 1)
    try loop.run(for: .milliseconds(10))
    #expect(turns == 100)
    withExtendedLifetime((timer, idle)) {}
  }

  @Test(arguments: [true, false]) func idleWorkMayDropItself(saysMore: Bool) throws {
    let loop = try EventLoop()
    var turns = 0
    var idle: EventSource?
    idle = try loop.addIdle {
      turns += 1
      idle = nil
      return saysMore
    }
    try loop.run(until: "idle work") { turns > 0 }
    try loop.run(for: .milliseconds(10))
    #expect(turns == 1 && idle == nil)
  }

  @Test func exitCodesComeBack() throws {
    let loop = try EventLoop()
    let timer = try loop.addTimer(after: .zero) { loop.exit(code: 7) }
    #expect(try loop.run() == 7)
    withExtendedLifetime(timer) {}
  }

  @Test func signalsAreHandled() throws {
    let loop = try EventLoop()
    var seen = 0
    let source = try loop.addSignal(SIGUSR2) { seen += 1 }
    pthread_kill(pthread_self(), SIGUSR2)
    try loop.run(until: "signal") { seen == 1 }
    withExtendedLifetime(source) {}
  }
}
