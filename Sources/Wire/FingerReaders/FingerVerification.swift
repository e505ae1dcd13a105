import LatchkeyPosix
import LatchkeySystemd

/// One verification of a user's finger, by fprintd. It claims a reader, waits for a match, and then releases the reader.
///
/// Only a signal of the process that granted the reader counts. Every program on the system bus may send this connection a signal
/// in fprintd's form. So this type compares the unique name of the signal's sender.
public final class FingerVerification {
  /// The next step of the person.
  public enum Step: Equatable, Sendable {
    /// Touch the reader, or swipe over it.
    case place(isSwipe: Bool)
    /// The reader saw too little, so the person must do the same once more. The value has the reason in fprintd's words, such as
    /// `verify-swipe-too-short`.
    case again(String)
    /// The finger is not enrolled.
    case noMatch
  }

  /// How the verification ended.
  public enum Outcome: Equatable, Sendable {
    /// An enrolled finger of that user touched the reader at this moment of CLOCK_BOOTTIME, in microseconds. Releasing the reader
    /// afterwards can take a while. A lock in this time came after the touch.
    case matched(at: UInt64)
    /// All tries were used up.
    case refused
    /// Nobody touched the reader in time, or the caller cancelled.
    case givenUp
    /// The user has no enrolled finger.
    case noFingers
    /// Another program has the reader.
    case busy
    /// There is no reader, or it does not work.
    case unavailable(EnrolledFingers.Unknown)
  }

  /// The step of the verification. Most cases wait for something.
  private enum State {
    case idle
    /// Waits for the list of readers.
    case listing
    /// Waits for the enrolled fingers of one reader after the other.
    case choosing(Chosen?, rest: [String])
    /// Waits for the bus's match rule, and then for the reader.
    case claiming(Chosen)
    /// Waits until fprintd begins.
    case starting(Chosen)
    /// Waits for a touch.
    case verifying(Chosen)
    /// Waits until fprintd has ended one try, before the next try.
    case stopping(Chosen)
    /// Waits until fprintd has taken the reader back.
    case releasing(Outcome)
    case ended
  }

  /// A reader, and the number of the user's fingers that it accepts.
  private struct Chosen {
    let path: String
    let fingers: Int
  }

  /// The person's time for a touch, as with pam_fprintd.
  public static let timeLimit = Duration.seconds(30)
  /// How long fprintd may take for one answer, including its start.
  private static let answerLimit = Duration.seconds(5)
  /// How long fprintd may take to release the reader.
  private static let releaseLimit = Duration.seconds(2)
  private static let readerLimit = 16
  private static let service = "net.reactivated.Fprint"
  private static let device = service + ".Device"

  private let loop: EventLoop
  private let address: Bus.Address
  private let user: String
  private let timeLimit: Duration
  private var triesLeft: Int
  private var state = State.idle
  private var bus: Bus?
  /// fprintd's unique name, after its first answer.
  private var owner: String?
  private var match: BusSlot?
  private var timer: EventSource?
  private var tell: ((Step) -> Void)?
  private var ended: ((Outcome) -> Void)?

  /// - Parameters:
  ///   - user: the name of the user whose fingers count. Only root may name another user.
  ///   - tries: the number of fingers without a match after which the verification ends.
  public init(
    of user: String, tries: Int, loop: EventLoop, address: Bus.Address = .system,
    timeLimit: Duration = FingerVerification.timeLimit
  ) {
    self.user = user
    self.loop = loop
    self.address = address
    self.timeLimit = timeLimit
    triesLeft = tries
  }

  /// Begins the verification. This calls `ended` once, after this function has returned and after fprintd has the reader back. It
  /// does not call `ended` if this object is freed before. Then fprintd notices the end of the connection, and takes the reader
  /// back.
  public func start(tell: @escaping (Step) -> Void, ended: @escaping (Outcome) -> Void) {
    guard case .idle = state else { return }
    (self.tell, self.ended) = (tell, ended)
    state = .listing
    do {
      timer = try loop.addTimer(after: timeLimit) { [weak self] in self?.end(.givenUp) }
      let bus = try Bus(address, loop: loop)
      self.bus = bus
      try bus.onDisconnect { [weak self] in self?.finish(.unavailable(.noService)) }
      try call(Self.service, "/net/reactivated/Fprint/Manager", Self.service + ".Manager", "GetDevices") {
        [weak self] message throws(BusError) in try self?.listed(message)
      }
    } catch {
      // The timer makes the call come after this function has returned.
      timer = try? loop.addTimer(after: .zero) { [weak self] in self?.finish(.unavailable(.noService)) }
    }
  }

  /// Cancels the verification. `ended` is still called.
  public func cancel() { end(.givenUp) }

  /// Calls fprintd. An error or an invalid answer ends the verification.
  private func call(
    _ destination: String?, _ path: String, _ interface: String, _ member: String, _ argument: String? = nil,
    then: @escaping (Message) throws(BusError) -> Void
  ) throws(BusError) {
    guard let bus, let destination else { throw .disconnected("no bus") }
    try bus.callAsync(
      destination: destination, path: path, interface: interface, member: member, timeout: Self.answerLimit
    ) {
      if let argument { $0.appendString(argument) }
    } reply: { [weak self] reply in
      do throws(BusError) { try then(try reply.get()) } catch { self?.fail(error) }
    }
  }

  private func listed(_ message: Message) throws(BusError) {
    guard case .listing = state else { return }
    owner = message.sender
    let paths = try message.readObjectPaths()
    guard paths.count <= Self.readerLimit else { return end(.unavailable(.manyReaders)) }
    guard !paths.isEmpty else { return end(.unavailable(.noReader)) }
    try choose(nil, rest: paths)
  }

  /// Asks the next reader for its fingers. At the end this claims the reader with the most fingers.
  private func choose(_ chosen: Chosen?, rest: [String]) throws(BusError) {
    guard let path = rest.first else {
      guard let chosen else { return end(.noFingers) }
      return try claim(chosen)
    }
    state = .choosing(chosen, rest: Array(rest.dropFirst()))
    guard let bus, let owner else { throw .disconnected("no bus") }
    try bus.callAsync(
      destination: owner, path: path, interface: Self.device, member: "ListEnrolledFingers", timeout: Self.answerLimit
    ) {
      $0.appendString(user)
    } reply: { [weak self] reply in
      guard let self, case .choosing(let chosen, let rest) = state else { return }
      do throws(BusError) {
        var count = 0
        do throws(BusError) { count = try reply.get().readStrings().count } catch {
          guard error.name == Self.service + ".Error.NoEnrolledPrints" else { throw error }
        }
        try choose(count > chosen?.fingers ?? 0 ? Chosen(path: path, fingers: count) : chosen, rest: rest)
      } catch { fail(error) }
    }
  }

  private func claim(_ chosen: Chosen) throws(BusError) {
    state = .claiming(chosen)
    guard let bus, let owner else { throw .disconnected("no bus") }
    do {
      match = try bus.matchSignal(
        sender: owner, path: chosen.path, interface: Self.device, member: "VerifyStatus",
        installed: { [weak self] error in self?.heard(chosen, error) },
        handler: { [weak self] message throws(BusError) in try self?.status(message) })
    } catch { end(.unavailable(.noService)) }
  }

  private func heard(_ chosen: Chosen, _ error: BusError?) {
    guard case .claiming = state else { return }
    if let error { return fail(error) }
    do throws(BusError) {
      try call(owner, chosen.path, Self.device, "Claim", user) { [weak self] _ throws(BusError) in
        guard let self, case .claiming = state else { return }
        try begin(chosen)
      }
    } catch { fail(error) }
  }

  private func begin(_ chosen: Chosen) throws(BusError) {
    state = .starting(chosen)
    try call(owner, chosen.path, Self.device, "VerifyStart", "any") { [weak self] _ throws(BusError) in
      guard let self, case .starting = state else { return }
      state = .verifying(chosen)
      try call(owner, chosen.path, Bus.properties, "GetAll", Self.device) {
        [weak self] message throws(BusError) in try self?.began(message)
      }
    }
  }

  /// Tells the person what to do, which depends on the kind of the reader.
  private func began(_ message: Message) throws(BusError) {
    guard case .verifying = state else { return }
    var isSwipe = false
    try message.readDictionary("sv") { (entry: Message) throws(BusError) in
      guard try entry.readString() == "scan-type" else { return try entry.skip() }
      try entry.readVariant("s") { (value: Message) throws(BusError) in isSwipe = try value.readString() == "swipe" }
    }
    tell?(.place(isSwipe: isSwipe))
  }

  private func status(_ message: Message) throws(BusError) {
    guard case .verifying(let chosen) = state else { return }
    let word = try message.readString()
    let isDone = try message.readBool()
    switch word {
    case "verify-match": return end(.matched(at: Process.microsecondsSinceBoot))
    case "verify-no-match":
      triesLeft -= 1
      guard triesLeft > 0 else { return end(.refused) }
      tell?(.noMatch)
    case "verify-disconnected": return end(.unavailable(.noReader))
    case "verify-unknown-error": return end(.unavailable(.refused(word)))
    default: tell?(.again(word))
    }
    // The caller may have cancelled meanwhile.
    guard isDone, case .verifying = state else { return }
    state = .stopping(chosen)
    try call(owner, chosen.path, Self.device, "VerifyStop") { [weak self] _ throws(BusError) in
      guard let self, case .stopping = state else { return }
      try begin(chosen)
    }
  }

  private func fail(_ error: BusError) {
    switch error.name {
    case Self.service + ".Error.AlreadyInUse": end(.busy)
    case Self.service + ".Error.NoEnrolledPrints": end(.noFingers)
    case Self.service + ".Error.NoSuchDevice": end(.unavailable(.noReader))
    case _ where ["ServiceUnknown", "NameHasNoOwner", "Disconnected"].contains { error.isStandard($0) }:
      end(.unavailable(.noService))
    case _ where error.isStandard("NoReply") || error.isStandard("Timeout"): end(.unavailable(.silent))
    default: end(.unavailable(.refused(error.name)))
    }
  }

  /// Releases the reader, and then reports the outcome.
  private func end(_ outcome: Outcome) {
    let chosen: Chosen
    var isVerifying = false
    switch state {
    case .releasing, .ended, .idle: return
    case .listing, .choosing: return finish(outcome)
    case .claiming(let one), .stopping(let one): chosen = one
    case .starting(let one), .verifying(let one): (chosen, isVerifying) = (one, true)
    }
    state = .releasing(outcome)
    match = nil
    // If fprintd does not answer, the end of the connection releases the reader too.
    timer = try? loop.addTimer(after: Self.releaseLimit) { [weak self] in self?.finish(outcome) }
    guard let bus, let owner else { return finish(outcome) }
    do throws(BusError) {
      if isVerifying {
        try bus.callAsync(destination: owner, path: chosen.path, interface: Self.device, member: "VerifyStop") { _ in }
      }
      try bus.callAsync(destination: owner, path: chosen.path, interface: Self.device, member: "Release") {
        [weak self] _ in self?.finish(outcome)
      }
    } catch { finish(outcome) }
  }

  private func finish(_ outcome: Outcome) {
    guard let ended else { return }
    var told = outcome
    // If fprintd ends while it takes the reader back, the outcome stays the same.
    if case .releasing(let decided) = state { told = decided }
    state = .ended
    (self.ended, tell, timer, match) = (nil, nil, nil, nil)
    bus = nil
    ended(told)
  }
}
