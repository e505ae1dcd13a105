import FoundationEssentials
import Glibc
import LatchkeyControl
import LatchkeyDoctor
import LatchkeyPosix
import LatchkeySystemd

/// Asks the session's bus, the machine's bus and the vault what `latchkey doctor` has to know. Nothing is started by it.
struct SessionQuestions {
  let place: Place
  let home: String

  /// How long one answer may take, in milliseconds.
  private static let patience = 5000
  private static let secrets = "org.freedesktop.secrets"

  func facts() -> SessionFacts {
    let environment = ProcessInfo.processInfo.environment
    var facts = SessionFacts(uid: getuid(), home: home, runtime: place.folder)
    if let path = environment["PATH"] { facts.searchPath = path.split(separator: ":").map(String.init) }
    facts.hasDisplay = ["WAYLAND_DISPLAY", "DISPLAY"].contains { environment[$0]?.isEmpty == false }
    do {
      let bus = try BusQuestions(.session)
      facts.secretsOwner = bus.owner(of: Self.secrets)
      facts.ownedNames = bus.ownedNames()
      facts.busNames = bus.names()
      facts.userUnits = bus.units(Doctor.userUnits, of: "the user manager")
    } catch {
      let why = "there is no session bus; run this in your session"
      (facts.secretsOwner, facts.busNames, facts.userUnits) = (.unknown(why), .unknown(why), .unknown(why))
    }
    do { facts.systemUnits = try BusQuestions(.system).units(Doctor.systemUnits, of: "the service manager") } catch {
      facts.systemUnits = .unknown("there is no system bus")
    }
    facts.vault = vault(facts)
    return facts
  }

  /// A connection to the socket would start a daemon that does not run.
  private func vault(_ facts: SessionFacts) -> Known<SessionFacts.Vault> {
    if let units = facts.userUnits.value, units["latchkeyd.service"]?.active != "active" {
      return .unknown("latchkeyd does not run, so it cannot be asked")
    }
    do throws(ControlError) {
      let client = try ControlClient(runtime: place.folder, uid: getuid())
      let status = try client.ask(GetStatus(), until: LatchkeyPosix.Process.now + Self.patience)
      return .known(
        SessionFacts.Vault(
          deviceKey: status.deviceKey, isMemoryLocked: status.memoryLocked && status.swappableSecrets == 0,
          isFirstUnlocked: status.firstUnlocked, path: status.vaultPath, problems: status.problems,
          lockSources: status.lockSources))
    } catch {
      return .unknown(
        error == .noDaemon ? "no vault is running, so it cannot be asked" : "the vault does not answer")
    }
  }
}

/// Questions to one bus, each of which waits for its answer.
private final class BusQuestions {
  private let loop: EventLoop
  private let bus: Bus
  private var isLost = false

  private static let manager = "org.freedesktop.systemd1"

  init(_ address: Bus.Address) throws {
    loop = try EventLoop()
    bus = try Bus(address, loop: loop)
    try bus.onDisconnect { [unowned self] in isLost = true }
    // A socket that nobody serves is no bus.
    _ = try ask("ListNames") { (answer: Message) throws(BusError) in try answer.readStrings() }
  }

  func owner(of name: String) -> Known<SessionFacts.Owner> {
    do throws(BusError) {
      let owner = try wait { done throws(BusError) in try self.bus.nameOwner(of: name, completion: done) }
      guard let owner else { return .known(.nobody) }
      let peer = try wait { done throws(BusError) in try self.bus.peerCredentials(of: owner, completion: done) }
      return .known(.process(peer.pid ?? 0))
    } catch { return .unknown("the bus does not say who owns \(name): \(error.message)") }
  }

  func ownedNames() -> Set<String> {
    Set((try? ask("ListNames") { (answer: Message) throws(BusError) in try answer.readStrings() }) ?? [])
  }

  func names() -> Known<Set<String>> {
    do throws(BusError) {
      let owned = try ask("ListNames") { (answer: Message) throws(BusError) in try answer.readStrings() }
      let startable = try ask("ListActivatableNames") { (answer: Message) throws(BusError) in try answer.readStrings() }
      return .known(Set(owned + startable))
    } catch { return .unknown("the bus does not say which names it knows: \(error.message)") }
  }

  func units(_ names: [String], of title: String) -> Known<[String: SessionFacts.Unit]> {
    var units: [String: SessionFacts.Unit] = [:]
    do throws(BusError) {
      for name in names {
        let path = try call(
          "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager", "LoadUnit",
          build: { (out: inout MessageWriter) throws(BusError) in try out.appendString(name) },
          read: { (answer: Message) throws(BusError) in try answer.readObjectPath() })
        units[name] = SessionFacts.Unit(
          load: try property("LoadState", of: path), active: try property("ActiveState", of: path))
      }
    } catch { return .unknown("\(title) cannot be asked: \(error.message)") }
    return .known(units)
  }

  private func property(_ name: String, of path: String) throws(BusError) -> String {
    try call(
      path, "org.freedesktop.DBus.Properties", "Get",
      build: { (out: inout MessageWriter) throws(BusError) in
        try out.appendString("org.freedesktop.systemd1.Unit")
        try out.appendString(name)
      },
      read: { (answer: Message) throws(BusError) in
        try answer.readVariant("s") { (value: Message) throws(BusError) in try value.readString() }
      })
  }

  private func ask<Value>(
    _ member: String, read: (Message) throws(BusError) -> Value
  ) throws(BusError) -> Value {
    let answer = try wait { done throws(BusError) in
      try self.bus.callAsync(
        destination: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
        member: member, reply: done)
    }
    return try read(answer)
  }

  private func call<Value>(
    _ path: String, _ interface: String, _ member: String, build: (inout MessageWriter) throws(BusError) -> Void,
    read: (Message) throws(BusError) -> Value
  ) throws(BusError) -> Value {
    let answer = try wait { done throws(BusError) in
      try self.bus.callAsync(
        destination: Self.manager, path: path, interface: interface, member: member, autoStart: false, build: build,
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
      if isLost { throw .disconnected("the bus is gone") }
      if rest <= 0 { throw .noReply("no answer in time") }
      do { try loop.runOnce(timeout: .milliseconds(rest)) } catch { throw .failed(error.description) }
    }
    guard let answer else { throw .disconnected("the bus is gone") }
    return try answer.get()
  }
}
