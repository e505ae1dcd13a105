import LatchkeyFingerReaders
import LatchkeyPrivateBus
import LatchkeySystemd
import Testing

/// A fake fprintd on a private bus, and a client that asks it.
private final class Scene {
  let daemon: PrivateBus
  let loop: EventLoop
  var fprintd: FakeFprintd?
  let fingers: EnrolledFingers

  init(_ readers: FakeFprintd.Reader..., exists: Bool = true, timeout: Duration = .seconds(10)) throws {
    daemon = try PrivateBus()
    loop = try EventLoop()
    fingers = EnrolledFingers(loop: loop, address: .address(daemon.address), timeout: timeout)
    if exists { fprintd = try FakeFprintd(daemon, loop, readers) }
  }

  func ask() throws -> Result<[EnrolledFingers.Reader], EnrolledFingers.Unknown> {
    var answers: [Result<[EnrolledFingers.Reader], EnrolledFingers.Unknown>] = []
    fingers.ask { answers.append($0) }
    #expect(answers.isEmpty, "told before the call returned")
    try loop.run(until: "an answer") { !answers.isEmpty }
    try loop.run(for: .milliseconds(20))
    #expect(answers.count == 1)
    return answers[0]
  }
}

private func error(_ name: String) -> BusError {
  BusError(name: "net.reactivated.Fprint.Error." + name, message: "")
}

@Suite("Enrolled fingers", .timeLimit(.minutes(20))) struct EnrolledFingersTests {
  @Test("Enrolled fingers are read from every reader, for each client that asks")
  func told() throws {
    let scene = try Scene(
      .init(name: "Goodix", answer: .success(["left-thumb", "right-index-finger"])),
      .init(name: "", answer: .success([])), .init(name: "Third", answer: .failure(error("NoEnrolledPrints"))))
    for _ in 0..<2 {
      #expect(
        try scene.ask()
          == .success([
            .init(name: "Goodix", fingers: ["left-thumb", "right-index-finger"]), .init(name: "", fingers: []),
            .init(name: "Third", fingers: []),
          ]))
    }
    #expect(scene.fprintd?.users == Array(repeating: "", count: 6))
  }

  @Test("Enrolled fingers may be ten thousand, with any names")
  func many() throws {
    let names = (0..<10_000).map { "finger \($0) äöü \u{1F44D}" } + ["", "", String(repeating: "x", count: 100_000)]
    let scene = try Scene(.init(name: "Reader", answer: .success(names)))
    #expect(try scene.ask() == .success([.init(name: "Reader", fingers: names)]))
  }

  @Test("Enrolled fingers are unknown if fprintd returns an error, which does not mean that there are none")
  func errors() throws {
    let scene = try Scene(.init(name: "Reader", answer: .success(["left-thumb"])), .init(name: "Other", answer: nil))
    for name in ["PermissionDenied", "ClaimDevice", "Internal", "NoEnrolledPrintsX"] {
      scene.fprintd?.readers[1].answer = .failure(error(name))
      #expect(try scene.ask() == .failure(.refused("net.reactivated.Fprint.Error." + name)))
    }
    scene.fprintd?.readers[1].answer = .failure(error("NoSuchDevice"))
    #expect(try scene.ask() == .failure(.noReader))
    // This error means "no fingers" only as the answer about fingers, and not about readers.
    scene.fprintd?.listing = .failure(error("NoEnrolledPrints"))
    #expect(try scene.ask() == .failure(.refused("net.reactivated.Fprint.Error.NoEnrolledPrints")))
    scene.fprintd?.listing = .failure(.invalidArguments("no"))
    #expect(try scene.ask() == .failure(.refused("org.freedesktop.DBus.Error.InvalidArgs")))
    scene.fprintd?.listing = .success(())
    scene.fprintd?.readers = []
    #expect(try scene.ask() == .failure(.noReader))
    scene.fprintd?.readers = Array(repeating: .init(name: "Reader", answer: .success([])), count: 17)
    #expect(try scene.ask() == .failure(.manyReaders))
  }

  @Test("Enrolled fingers are not waited for without end")
  func silence() throws {
    let scene = try Scene(.init(name: "Reader", answer: nil), timeout: .milliseconds(200))
    #expect(try scene.ask() == .failure(.silent))
    scene.fprintd?.listing = nil
    #expect(try scene.ask() == .failure(.silent))
    // fprintd answers the next question anew.
    scene.fprintd?.listing = .success(())
    scene.fprintd?.readers[0].answer = .success(["left-thumb"])
    var answer = try scene.ask()
    // On a busy machine, an answer may come after the deadline.
    for _ in 0..<20 where answer == .failure(.silent) { answer = try scene.ask() }
    #expect(answer == .success([.init(name: "Reader", fingers: ["left-thumb"])]))
  }

  @Test("Enrolled fingers are not known without fprintd, and without a bus")
  func absence() throws {
    let scene = try Scene(exists: false)
    #expect(try scene.ask() == .failure(.noService))
    scene.daemon.stop()
    #expect(try scene.ask() == .failure(.noService))
    try scene.daemon.restart()
    scene.fprintd = try FakeFprintd(scene.daemon, scene.loop, [.init(name: "Reader", answer: .success([]))])
    #expect(try scene.ask() == .success([.init(name: "Reader", fingers: [])]))
  }

  @Test("Enrolled fingers are unknown if the bus ends during the question")
  func lost() throws {
    let scene = try Scene(.init(name: "Reader", answer: nil))
    var answer: Result<[EnrolledFingers.Reader], EnrolledFingers.Unknown>?
    scene.fingers.ask { answer = $0 }
    try scene.loop.run(until: "the question") { scene.fprintd?.users.isEmpty == false }
    scene.daemon.stop()
    try scene.loop.run(until: "an answer") { answer != nil }
    #expect(answer == .failure(.silent))
  }
}
