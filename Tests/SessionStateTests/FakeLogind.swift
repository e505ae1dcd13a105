import Foundation
import LatchkeyPrivateBus
import LatchkeySessionState
import LatchkeySystemd

/// The part of logind that the watch uses, on a private bus with a connection of its own.
final class FakeLogind {
  let bus: Bus
  private let loop: EventLoop
  private var slots: [BusSlot] = []
  private(set) var sessions: [String: SessionFacts] = [:]
  private var inhibitors: [Int32] = []

  var isPreparingForSleep = false
  /// While true, this logind does not answer.
  var isSilent = false
  var refusesInhibitors = false
  private var unanswered: [MethodCall] = []

  /// The number of times that the watch listed all sessions.
  private(set) var listings = 0

  init(_ daemon: PrivateBus, _ loop: EventLoop, ownsName: Bool = true) throws {
    self.loop = loop
    bus = try daemon.connect(loop)
    slots = [try exportManager(), try exportSessions()]
    guard ownsName else { return }
    try ownName()
  }

  func ownName() throws {
    var owned = false
    try bus.requestNameAsync("org.freedesktop.login1") { owned = (try? $0.get()) == .owned }
    try loop.run(until: "the name of logind") { owned }
  }

  deinit { for fd in inhibitors { close(fd) } }

  static func path(_ id: String) -> String { "/org/freedesktop/login1/session/_3\(id)" }

  // MARK: Doing what logind does

  func set(_ facts: SessionFacts) throws {
    let old = sessions.updateValue(facts, forKey: facts.id)
    guard let old else {
      return try emit("SessionNew", facts.id)
    }
    // logind sends no signal for a change of State either.
    var names: [String] = []
    if old.lockedHint != facts.lockedHint { names.append("LockedHint") }
    if old.isActive != facts.isActive { names.append("Active") }
    if !names.isEmpty {
      try bus.emitPropertiesChanged(
        path: Self.path(facts.id), interface: "org.freedesktop.login1.Session", names: names)
    }
  }

  /// Changes the later answers without a signal, as if the signal were still on its way.
  func setSilently(_ facts: SessionFacts) { sessions[facts.id] = facts }

  func end(_ id: String) throws {
    sessions[id] = nil
    try emit("SessionRemoved", id)
  }

  func lock(_ id: String) throws {
    try bus.emitSignal(path: Self.path(id), interface: "org.freedesktop.login1.Session", member: "Lock")
  }

  func unlock(_ id: String) throws {
    try bus.emitSignal(path: Self.path(id), interface: "org.freedesktop.login1.Session", member: "Unlock")
  }

  func prepareForSleep(_ starts: Bool) throws {
    isPreparingForSleep = starts
    try bus.emitSignal(
      path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager", member: "PrepareForSleep",
      build: { $0.appendBool(starts) })
  }

  func answerAll() {
    isSilent = false
    unanswered = []
  }

  /// The number of held delay locks, which are sockets whose other end is open.
  var heldInhibitors: Int {
    inhibitors.count { fd in
      var poll = pollfd(fd: fd, events: 0, revents: 0)
      return Glibc.poll(&poll, 1, 0) == 0
    }
  }

  private func emit(_ member: String, _ id: String) throws {
    try bus.emitSignal(
      path: "/org/freedesktop/login1", interface: "org.freedesktop.login1.Manager", member: member,
      build: { w in
        w.appendString(id)
        w.appendObjectPath(Self.path(id))
      })
  }

  // MARK: The objects

  private func exportManager() throws -> BusSlot {
    let list = ObjectInterface.Method("ListSessions", output: [.init("a(susso)", "sessions")]) { [weak self] call in
      guard let self else { return }
      listings += 1
      if isSilent { return unanswered.append(call) }
      let sessions = sessions.values.sorted { $0.id < $1.id }
      call.reply { w in
        w.appendArray("(susso)", of: sessions) { w, facts in
          w.appendStruct("susso") { w in
            w.appendString(facts.id)
            w.appendUInt32(facts.uid)
            w.appendString("name")
            w.appendString(facts.seat)
            w.appendObjectPath(Self.path(facts.id))
          }
        }
      }
    }
    let inhibit = ObjectInterface.Method(
      "Inhibit",
      input: [.init("s", "what"), .init("s", "who"), .init("s", "why"), .init("s", "mode")],
      output: [.init("h", "fd")]
    ) { [weak self] call throws(BusError) in
      guard let self else { return }
      guard !refusesInhibitors else { throw .accessDenied("no") }
      let arguments = [
        try call.message.readString(), try call.message.readString(), try call.message.readString(),
        try call.message.readString(),
      ]
      guard arguments[0] == "sleep", arguments[3] == "delay" else { throw .invalidArguments("wrong lock") }
      var ends: [Int32] = [-1, -1]
      // A bus that another test starts meanwhile must not inherit the socket.
      guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
        throw .failed("no pipe")
      }
      inhibitors.append(ends[1])
      call.reply { $0.appendUnixFD(ends[0]) }
      close(ends[0])
    }
    let sleep = ObjectInterface.Property("PreparingForSleep", "b") { [weak self] _, w in
      w.appendBool(self?.isPreparingForSleep ?? false)
    }
    return try bus.export(
      ObjectInterface("org.freedesktop.login1.Manager", methods: [list, inhibit], properties: [sleep]),
      below: "/org/freedesktop/login1"
    ) { $0 == "/org/freedesktop/login1" }
  }

  private func exportSessions() throws -> BusSlot {
    func text(_ name: String, _ value: @escaping (SessionFacts) -> String) -> ObjectInterface.Property {
      .init(name, "s") { [weak self] (path, w) throws(BusError) in w.appendString(value(try self.facts(path))) }
    }
    func flag(_ name: String, _ value: @escaping (SessionFacts) -> Bool) -> ObjectInterface.Property {
      .init(name, "b", flags: .emitsChange) { [weak self] (path, w) throws(BusError) in
        w.appendBool(value(try self.facts(path)))
      }
    }
    let user = ObjectInterface.Property("User", "(uo)") { [weak self] (path, w) throws(BusError) in
      let uid = try self.facts(path).uid
      w.appendStruct("uo") { w in
        w.appendUInt32(uid)
        w.appendObjectPath("/org/freedesktop/login1/user/_\(uid)")
      }
    }
    let seat = ObjectInterface.Property("Seat", "(so)") { [weak self] (path, w) throws(BusError) in
      let seat = try self.facts(path).seat
      w.appendStruct("so") { w in
        w.appendString(seat)
        w.appendObjectPath("/")
      }
    }
    let properties = [
      text("Id", \.id), text("Class", \.sessionClass), text("Type", \.type), text("State", \.state),
      text("Service", \.service), flag("Active", \.isActive), flag("LockedHint", \.lockedHint),
      flag("Remote", \.isRemote), user, seat,
    ]
    return try bus.export(
      ObjectInterface("org.freedesktop.login1.Session", properties: properties),
      below: "/org/freedesktop/login1/session"
    ) { [weak self] path in self?.sessions.keys.contains { Self.path($0) == path } ?? false }
  }
}

extension FakeLogind? {
  fileprivate func facts(_ path: String) throws(BusError) -> SessionFacts {
    guard let facts = self?.sessions.values.first(where: { FakeLogind.path($0.id) == path }) else {
      throw BusError(name: "org.freedesktop.DBus.Error.UnknownObject", message: "no such session")
    }
    return facts
  }
}
