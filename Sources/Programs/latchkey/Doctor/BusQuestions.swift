import Glibc
import LatchkeyDoctor
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySystemd

/// Questions to one bus. Each waits for its answer, five seconds at most.
///
/// A `ServiceConnection` leads to one program that keeps secrets. It verifies who that program is, and waits as long as the
/// program runs.
final class BusQuestions {
  private let loop: EventLoop
  private let bus: Bus
  private var isLost = false

  static let manager = "org.freedesktop.systemd1"

  init(_ address: Bus.Address) throws {
    loop = try EventLoop()
    bus = try Bus(address, loop: loop)
    try bus.onDisconnect { [unowned self] in isLost = true }
    // A socket without a server is not a bus.
    _ = try ask("ListNames") { (answer: Message) throws(BusError) in try answer.readStrings() }
  }

  func owner(of name: String) -> Known<DesktopFacts.Owner> {
    do throws(BusError) {
      let owner = try wait { done throws(BusError) in try self.bus.nameOwner(of: name, completion: done) }
      guard let owner else { return .known(.nobody) }
      let peer = try wait { done throws(BusError) in try self.bus.peerCredentials(of: owner, completion: done) }
      return .known(.process(peer.pid ?? 0))
    } catch { return .unknown(translated("the bus does not say who owns \(name): \(error.message)")) }
  }

  /// A connection that owns a name or waits for it.
  struct Holder: Equatable {
    /// The connection's own name.
    let connection: String
    /// The holder's process; 0 if the bus cannot tell.
    let process: Int32
  }

  /// The owner of a name, then the connections that wait for it.
  func queue(for name: String) -> Known<[Holder]> {
    let connections: [String]
    do throws(BusError) {
      connections = try ask("ListQueuedOwners") {
        $0.appendString(name)
      } read: { (answer: Message) throws(BusError) in
        try answer.readStrings()
      }
    } catch {
      if error.isStandard("NameHasNoOwner") { return .known([]) }
      return .unknown(translated("the bus does not say who waits for \(name): \(error.message)"))
    }
    // A connection that has ended meanwhile waits no longer.
    return .known(
      connections.compactMap { connection in
        let peer = try? wait { done throws(BusError) in
          try self.bus.peerCredentials(of: connection, completion: done)
        }
        return peer.map { Holder(connection: connection, process: $0.pid ?? 0) }
      })
  }

  func ownedNames() -> Set<String> {
    Set((try? ask("ListNames") { (answer: Message) throws(BusError) in try answer.readStrings() }) ?? [])
  }

  func names() -> Known<Set<String>> {
    do throws(BusError) {
      let owned = try ask("ListNames") { (answer: Message) throws(BusError) in try answer.readStrings() }
      let startable = try ask("ListActivatableNames") { (answer: Message) throws(BusError) in try answer.readStrings() }
      return .known(Set(owned + startable))
    } catch { return .unknown(translated("the bus does not say which names it knows: \(error.message)")) }
  }

  func units(_ names: [String], of title: String) -> Known<[String: DesktopFacts.Unit]> {
    var units: [String: DesktopFacts.Unit] = [:]
    do throws(BusError) {
      for name in names {
        let path = try call(
          "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "LoadUnit",
          build: { $0.appendString(name) },
          read: { (answer: Message) throws(BusError) in try answer.readObjectPath() })
        units[name] = DesktopFacts.Unit(
          load: try property("LoadState", of: path), active: try property("ActiveState", of: path))
      }
    } catch { return .unknown(translated("\(title) cannot be asked: \(error.message)")) }
    return .known(units)
  }

  private func property(_ name: String, of path: String) throws(BusError) -> String {
    try call(
      path, Bus.properties, "Get",
      build: { out in
        out.appendString("org.freedesktop.systemd1.Unit")
        out.appendString(name)
      },
      read: { (answer: Message) throws(BusError) in
        try answer.readVariant(.text)
      })
  }

  func ask<Value>(
    _ member: String,
    build: (inout MessageWriter) -> Void = { _ in },
    read: (Message) throws(BusError) -> Value
  ) throws(BusError) -> Value {
    let answer = try wait { done throws(BusError) in
      try self.bus.callAsync(
        destination: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
        member: member, build: build, reply: done)
    }
    return try read(answer)
  }

  func call<Value>(
    _ path: String, _ interface: String, _ member: String, of destination: String = manager,
    build: (inout MessageWriter) -> Void = { _ in },
    read: (Message) throws(BusError) -> Value
  ) throws(BusError) -> Value {
    let answer = try wait { done throws(BusError) in
      try self.bus.callAsync(
        destination: destination, path: path, interface: interface, member: member, autoStart: false, build: build,
        reply: done)
    }
    return try read(answer)
  }

  private func wait<Value>(
    _ begin: (@escaping (Result<Value, BusError>) -> Void) throws(BusError) -> Void
  ) throws(BusError) -> Value {
    var answer: Result<Value, BusError>?
    try begin { answer = $0 }
    let end = LatchkeyPosix.Process.now + 5000
    while answer == nil {
      let rest = end - LatchkeyPosix.Process.now
      if isLost { throw .disconnected(translated("the bus is gone")) }
      if rest <= 0 { throw .noReply(translated("no answer in time")) }
      do { try loop.runOnce(timeout: .milliseconds(rest)) } catch { throw .failed(error.description) }
    }
    guard let answer else { throw .disconnected(translated("the bus is gone")) }
    return try answer.get()
  }
}
