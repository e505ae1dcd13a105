import LatchkeySystemd

/// One reading of all sessions. Each reply goes into the table at once, so that changes which logind signals meanwhile keep
/// their order.
final class SessionRound {
  enum Answer {
    case answered
    /// The name has no owner, and no program can be started for it.
    case absent
    /// The answer came too late, or could not be understood.
    case silent
  }

  private weak var watch: LogindWatch?
  private let bus: Bus
  private let completion: (Answer) -> Void
  private var outstanding = 0
  private var answer = Answer.answered

  private init(_ watch: LogindWatch, bus: Bus, completion: @escaping (Answer) -> Void) {
    self.watch = watch
    self.bus = bus
    self.completion = completion
  }

  static func start(_ watch: LogindWatch, bus: Bus, completion: @escaping (Answer) -> Void) {
    let round = SessionRound(watch, bus: bus, completion: completion)
    round.call(
      LogindWatch.path, LogindWatch.manager, "ListSessions", arguments: [], isVital: true
    ) { [weak watch] message throws(BusError) in
      guard let watch else { return }
      watch.answered(by: message.sender)
      let paths = try message.readArray("(susso)") { (message) throws(BusError) in
        try message.readStruct("susso") { (message) throws(BusError) in
          for _ in 0..<4 { try message.skip() }
          return try message.readObjectPath()
        }
      }
      watch.forget(except: Set(paths))
      for path in paths { round.read(path) }
      round.readSleep()
    }
  }

  private func read(_ path: String) {
    // A session that has ended meanwhile returns an error and does not count.
    call(path, Bus.properties, "GetAll", arguments: [LogindWatch.session], isVital: false) {
      [weak watch] message throws(BusError) in
      var facts = SessionFacts(id: path, uid: .max, sessionClass: "", type: "", isActive: false, state: "")
      try facts.take(message)
      watch?.learn(facts, at: path)
    }
  }

  private func readSleep() {
    call(
      LogindWatch.path, Bus.properties, "Get", arguments: [LogindWatch.manager, "PreparingForSleep"],
      isVital: false
    ) { [weak watch] message throws(BusError) in
      let preparing = try message.readVariant(.flag)
      watch?.learnSleep(preparing)
    }
  }

  /// Every call keeps the round alive until its reply; the last reply ends the round. If a vital call fails or gets no reply, the
  /// round has no answer.
  private func call(
    _ path: String, _ interface: String, _ member: String, arguments: [String], isVital: Bool,
    _ read: @escaping (Message) throws(BusError) -> Void
  ) {
    outstanding += 1
    do throws(BusError) {
      try bus.callAsync(
        destination: LogindWatch.name, path: path, interface: interface, member: member,
        timeout: LogindWatch.timeout
      ) {
        for argument in arguments { $0.appendString(argument) }
      } reply: { reply in
        switch reply {
        case .failure(let error):
          let isSilence = error.isStandard("NoReply") || error.isStandard("Timeout") || !self.bus.isOpen
          if isSilence { self.answer = .silent } else if isVital { self.answer = .absent }
        case .success(let message):
          do throws(BusError) { try read(message) } catch { self.answer = .silent }
        }
        self.finished()
      }
    } catch {
      answer = .silent
      finished()
    }
  }

  private func finished() {
    outstanding -= 1
    guard outstanding == 0 else { return }
    if answer == .answered { watch?.reportSessions() }
    completion(answer)
  }
}

extension SessionFacts {
  /// Takes over the properties in an `a{sv}` of a session. The properties that are not in it stay.
  mutating func take(_ message: Message) throws(BusError) {
    var new = self
    try message.readDictionary("sv") { (entry) throws(BusError) in
      switch try entry.readString() {
      case "Id": new.id = try entry.readVariant(.text)
      case "Class": new.sessionClass = try entry.readVariant(.text)
      case "Type": new.type = try entry.readVariant(.text)
      case "State": new.state = try entry.readVariant(.text)
      case "Service": new.service = try entry.readVariant(.text)
      case "Active": new.isActive = try entry.readVariant(.flag)
      case "LockedHint": new.lockedHint = try entry.readVariant(.flag)
      case "Remote": new.isRemote = try entry.readVariant(.flag)
      case "User":
        new.uid = try entry.readVariant("(uo)") { (m) throws(BusError) in
          try m.readStruct("uo") { (m) throws(BusError) in try m.readUInt32() }
        }
      case "Seat":
        new.seat = try entry.readVariant("(so)") { (m) throws(BusError) in
          try m.readStruct("so") { (m) throws(BusError) in try m.readString() }
        }
      default: try entry.skip()
      }
    }
    self = new
  }
}
