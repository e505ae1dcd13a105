import Foundation
import LatchkeyPrivateBus
import Testing

@testable import LatchkeySystemd

/// Two connections on one private bus, which every test here needs.
struct Pair {
  let daemon: PrivateBus
  let loop: EventLoop
  let service: Bus
  let client: Bus
  let serviceName: String
  let clientName: String

  init() throws {
    daemon = try PrivateBus()
    loop = try EventLoop()
    service = try daemon.connect(loop)
    client = try daemon.connect(loop)
    serviceName = try service.name(loop)
    clientName = try client.name(loop)
  }

  func call(
    _ member: String, at path: String = "/test/one", interface: String = "test.Interface",
    build: (inout MessageWriter) throws(BusError) -> Void = { _ in }
  ) throws -> Message {
    try client.call(loop, serviceName, path, interface, member, build: build)
  }

  func properties(
    _ member: String, at path: String = "/test/one",
    build: (inout MessageWriter) throws(BusError) -> Void
  ) throws -> Message {
    try call(member, at: path, interface: "org.freedesktop.DBus.Properties", build: build)
  }

  func export(
    methods: [ObjectInterface.Method] = [], properties: [ObjectInterface.Property] = [],
    signals: [ObjectInterface.Signal] = []
  ) throws -> BusSlot {
    try service.export(
      ObjectInterface("test.Interface", methods: methods, properties: properties, signals: signals), below: "/test"
    ) { $0 == "/test/one" || $0 == "/test/two/deep" }
  }
}

func errorName(_ body: () throws -> Void) -> String {
  do {
    try body()
    return "no error"
  } catch let error as BusError {
    return error.name
  } catch {
    return "\(error)"
  }
}

let standard = "org.freedesktop.DBus.Error."

@Suite(.timeLimit(.minutes(20))) struct BusTests {
  @Test func connectingWaitsForNothing() throws {
    let daemon = try PrivateBus()
    let loop = try EventLoop()
    let bus = try daemon.connect(loop)
    #expect(bus.uniqueName == nil)
    #expect(bus.isOpen)
    #expect(try bus.name(loop).hasPrefix(":"))
  }

  @Test func anAbsentBusIsAnError() throws {
    let loop = try EventLoop()
    #expect(throws: SystemdError.self) { try Bus(.address("unix:path=/nonexistent/bus"), loop: loop) }
    #expect(throws: SystemdError.self) { try Bus(.user(runtime: "/nonexistent/a b"), loop: loop) }
  }

  @Test func losingTheBusIsTold() throws {
    let pair = try Pair()
    var kept: MethodCall?
    let slot = try pair.export(methods: [.init("Never") { call in kept = call }])
    var order: [String] = []
    try pair.client.onDisconnect { order.append("lost") }
    try pair.client.callAsync(
      destination: pair.serviceName, path: "/test/one", interface: "test.Interface", member: "Never"
    ) { if case .failure = $0 { order.append("failed") } }
    try pair.loop.run(until: "call") { kept != nil }
    pair.daemon.stop()
    try pair.loop.run(until: "disconnect") { order.contains("lost") }
    #expect(order == ["failed", "lost"])
    #expect(!pair.client.isOpen)
    #expect(
      errorName { try pair.client.emitSignal(path: "/", interface: "a.b", member: "C") } == standard + "Disconnected")
    withExtendedLifetime(slot) {}
  }

  @Test func namesAreOwnedOnce() throws {
    let pair = try Pair()
    var answers: [Bus.NameRequest] = []
    func ask(_ bus: Bus) throws {
      let count = answers.count
      try bus.requestNameAsync("org.example.Latchkey") { if case .success(let answer) = $0 { answers.append(answer) } }
      try pair.loop.run(until: "name") { answers.count > count }
    }
    try ask(pair.service)
    try ask(pair.service)
    try ask(pair.client)
    #expect(answers == [.owned, .alreadyOwned, .exists])
    var owner: String??
    try pair.client.nameOwner(of: "org.example.Latchkey") { owner = try? $0.get() }
    try pair.loop.run(until: "owner") { owner != nil }
    #expect(owner == pair.serviceName)
    var nobody: String?? = "unasked"
    try pair.client.nameOwner(of: "org.example.Nobody") { nobody = try? $0.get() }
    try pair.loop.run(until: "owner") { nobody != "unasked" }
    #expect(nobody == .some(nil))
  }

  @Test func oneThatWouldReplaceTheOwnerWaitsInFront() throws {
    let pair = try Pair()
    let third = try pair.daemon.connect(pair.loop)
    let thirdName = try third.name(pair.loop)
    let name = "org.example.Latchkey"
    var answers: [Bus.NameRequest] = []
    func ask(_ bus: Bus, allow: Bool = false, replace: Bool = false, queue: Bool = false) throws {
      let count = answers.count
      try bus.requestNameAsync(name, allowReplacement: allow, replaceExisting: replace, queueing: queue) {
        if case .success(let answer) = $0 { answers.append(answer) }
      }
      try pair.loop.run(until: "name") { answers.count > count }
    }
    func queue() throws -> [String] {
      var owners: [String]?
      try pair.client.queuedOwners(of: name) { owners = try? $0.get() }
      try pair.loop.run(until: "queue") { owners != nil }
      return owners ?? []
    }
    #expect(try queue() == [])
    try ask(pair.service)
    try ask(pair.client, queue: true)
    try ask(third, allow: true, replace: true, queue: true)
    #expect(answers == [.owned, .queued, .queued])
    #expect(try queue() == [pair.serviceName, thirdName, pair.clientName])
    // The next owner is the first in the queue.
    pair.service.close()
    while try queue().first != thirdName {}
    let next = try pair.daemon.connect(pair.loop)
    let nextName = try next.name(pair.loop)
    try ask(next, replace: true)
    #expect(answers.last == .owned)
    #expect(try queue() == [nextName, thirdName, pair.clientName])
  }

  @Test func signalsAboutNamesOfANamespace() throws {
    let pair = try Pair()
    var heard: [String] = []
    var isInstalled = false
    let slot = try pair.client.matchSignal(
      sender: "org.freedesktop.DBus", member: "NameOwnerChanged", arg0Namespace: "org.example",
      installed: { _ in isInstalled = true }
    ) { message throws(BusError) in heard.append(try message.readString()) }
    try pair.loop.run(until: "the rule") { isInstalled }
    for name in ["com.example.One", "org.examples.Two", "org.example.Three"] {
      try pair.service.requestNameAsync(name) { _ in }
    }
    try pair.loop.run(until: "the last one") { heard.contains("org.example.Three") }
    #expect(heard == ["org.example.Three"])
    withExtendedLifetime(slot) {}
  }

  @Test func anInvalidNameIsAnError() throws {
    let pair = try Pair()
    var failure: BusError?
    try pair.client.requestNameAsync("not a name") { if case .failure(let error) = $0 { failure = error } }
    try pair.loop.run(until: "refusal") { failure != nil }
    #expect(failure?.isStandard("InvalidArgs") == true)
  }

  @Test func signalsReachEverybodyOrOne() throws {
    let pair = try Pair()
    let third = try pair.daemon.connect(pair.loop)
    _ = try third.name(pair.loop)
    var heard: [String] = []
    var installed = 0
    let slots = try [("client", pair.client), ("third", third)].map { name, bus in
      try bus.matchSignal(
        sender: pair.serviceName, path: "/test", interface: "test.Interface",
        installed: { if $0 == nil { installed += 1 } },
        handler: { message throws(BusError) in
          heard.append("\(name) \(message.member ?? "") \(try message.readString())")
        }
      )
    }
    try pair.loop.run(until: "matches") { installed == 2 }
    try pair.service.emitSignal(path: "/test", interface: "test.Interface", member: "All") { $0.appendString("x") }
    try pair.loop.run(until: "broadcast") { heard.count == 2 }
    #expect(heard.sorted() == ["client All x", "third All x"])
    heard = []
    try pair.service.emitSignal(
      path: "/test", interface: "test.Interface", member: "One", to: pair.clientName,
      build: { $0.appendString("y") })
    try pair.loop.run(until: "the signal") { !heard.isEmpty }
    try pair.loop.run(for: .milliseconds(50))
    #expect(heard == ["client One y"])
    // The signal is malformed, because it has no string. The connection drops it, and the match stays.
    try pair.service.emitSignal(path: "/test", interface: "test.Interface", member: "Bad")
    try pair.service.emitSignal(
      path: "/test", interface: "test.Interface", member: "Good",
      build: { $0.appendString("z") })
    try pair.loop.run(until: "good signal") { heard.contains("third Good z") }
    #expect(!heard.contains { $0.contains("Bad") })
    withExtendedLifetime(slots) {}
  }

  @Test func aDroppedMatchIsGone() throws {
    let pair = try Pair()
    var heard = 0
    var installed = false
    var slot: BusSlot?
    slot = try pair.client.matchSignal(
      interface: "test.Interface", installed: { _ in installed = true },
      handler: { _ in
        heard += 1
        slot = nil
      })
    try pair.loop.run(until: "match") { installed }
    for _ in 0..<3 { try pair.service.emitSignal(path: "/test", interface: "test.Interface", member: "All") }
    try pair.loop.run(until: "a signal") { heard > 0 }
    try pair.loop.run(for: .milliseconds(50))
    #expect(heard == 1)
    #expect(slot == nil)
  }

  @Test func aForgedSenderIsNotHeard() throws {
    let pair = try Pair()
    let forger = try pair.daemon.connect(pair.loop)
    _ = try forger.name(pair.loop)
    var installed = 0
    var heard = 0
    let driver = try pair.client.matchSignal(
      sender: "org.freedesktop.DBus", member: "NameOwnerChanged", arg0: "org.example.Never",
      installed: { _ in installed += 1 }, handler: { _ in heard += 1 })
    let peer = try pair.client.matchSignal(
      sender: pair.serviceName, member: "Told", installed: { _ in installed += 1 }, handler: { _ in heard += 1 })
    try pair.loop.run(until: "matches") { installed == 2 }
    // Unicast signals pass the bus without any match rule.
    try forger.emitSignal(
      path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus", member: "NameOwnerChanged",
      to: pair.clientName,
      build: { for text in ["org.example.Never", ":1.1", ""] { $0.appendString(text) } })
    try forger.emitSignal(path: "/test", interface: "test.Interface", member: "Told", to: pair.clientName)
    try pair.loop.run(for: .milliseconds(50))
    #expect(heard == 0)
    try pair.service.emitSignal(path: "/test", interface: "test.Interface", member: "Told", to: pair.clientName)
    try pair.loop.run(until: "the real one") { heard == 1 }
    withExtendedLifetime((driver, peer)) {}
  }

  @Test func aVanishingPeerIsNoticed() throws {
    let pair = try Pair()
    var third: Bus? = try pair.daemon.connect(pair.loop)
    let name = try #require(try third?.name(pair.loop))
    var gone: [String] = []
    let watch = try pair.client.watchPeer(name) { gone.append("third") }
    let other = try pair.client.watchPeer(pair.serviceName) { gone.append("service") }
    try pair.loop.run(for: .milliseconds(50))
    #expect(gone.isEmpty)
    third = nil
    try pair.loop.run(until: "peer gone") { !gone.isEmpty }
    #expect(gone == ["third"])
    // The peer was gone before the watch began.
    let late = try pair.client.watchPeer(name) { gone.append("late") }
    try pair.loop.run(until: "peer gone before") { gone.count == 2 }
    #expect(gone == ["third", "late"])
    withExtendedLifetime((watch, other, late, third)) {}
  }

  @Test func credentialsAreTheProcess() throws {
    let pair = try Pair()
    var found: PeerCredentials?
    try pair.client.peerCredentials(of: pair.serviceName) { found = try? $0.get() }
    try pair.loop.run(until: "credentials") { found != nil }
    #expect(found?.name == pair.serviceName)
    #expect(found?.uid == getuid())
    #expect(found?.pid == getpid())
    var failure: BusError?
    try pair.client.peerCredentials(of: ":9.99999") { if case .failure(let error) = $0 { failure = error } }
    try pair.loop.run(until: "no credentials") { failure != nil }
    #expect(failure?.isStandard("NameHasNoOwner") == true)
  }

  /// The test gives the answer of newer buses (D-Bus 1.15.8), because the installed bus cannot give it.
  @Test func credentialsMayBringTheProcessItself() throws {
    let pair = try Pair()
    var found: PeerCredentials?
    let slot = try pair.export(methods: [
      .init("Tell", input: [.init("a{sv}", "credentials")]) { call throws(BusError) in
        found = try PeerCredentials(name: "x", from: call.message)
        call.reply()
      }
    ])
    var ends: [Int32] = [-1, -1]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    let (passed, other) = (ends[0], ends[1])
    defer { close(other) }
    try pair.client.callAsync(
      destination: pair.serviceName, path: "/test/one", interface: "test.Interface", member: "Tell"
    ) { out in
      out.open("a", "{sv}")
      for (name, type) in [("UnixUserID", "u"), ("ProcessID", "u"), ("ProcessFD", "h"), ("Other", "s")] {
        out.open("e", "sv")
        out.appendString(name)
        out.appendVariant(type) { value in
          switch type {
          case "u": value.appendUInt32(7)
          case "h": value.appendUnixFD(passed)
          default: value.appendString("")
          }
        }
        out.close()
      }
      out.close()
    } reply: { _ in
    }
    try pair.loop.run(until: "credentials") { found != nil }
    #expect(found?.uid == 7 && found?.pid == 7)
    let number = try #require(found?.process?.number)
    #expect(number != passed && fcntl(number, F_GETFD) == FD_CLOEXEC)
    // Other tests reuse numbers at once, so the test checks at the other end whether an end is closed.
    func isClosed() -> Bool {
      var end = pollfd(fd: other, events: 0, revents: 0)
      return poll(&end, 1, 0) == 1
    }
    close(passed)
    #expect(!isClosed())
    found = nil
    try pair.loop.run(until: "its end with the last reference", isClosed)
    withExtendedLifetime(slot) {}
  }

  @Test func callsTimeOut() throws {
    let pair = try Pair()
    var kept: [MethodCall] = []
    let slot = try pair.export(methods: [.init("Never") { call in kept.append(call) }])
    var failure: BusError?
    try pair.client.callAsync(
      destination: pair.serviceName, path: "/test/one", interface: "test.Interface", member: "Never",
      timeout: .milliseconds(50)
    ) { if case .failure(let error) = $0 { failure = error } }
    try pair.loop.run(until: "timeout") { failure != nil }
    // On a busy machine, the call may arrive only after its deadline.
    try pair.loop.run(until: "call") { kept.count == 1 }
    #expect(failure?.name.hasPrefix(standard) == true)
    withExtendedLifetime(slot) {}
  }

  @Test func aDroppedBusForgetsItsCalls() throws {
    let pair = try Pair()
    final class Witness {}
    weak var witness: Witness?
    var bus: Bus? = try pair.daemon.connect(pair.loop)
    _ = try bus?.name(pair.loop)
    do {
      let strong = Witness()
      witness = strong
      try bus?.callAsync(
        destination: pair.serviceName, path: "/", interface: "org.freedesktop.DBus.Peer", member: "Ping"
      ) { _ in _ = strong }
    }
    #expect(witness != nil)
    bus = nil
    try pair.loop.run(until: "the end of the call") { witness == nil }
  }
}
