import LatchkeyReasons
import LatchkeySystemd

/// The enrolled fingers of this user, as fprintd reports them over the system bus. Only root may own fprintd's name there.
///
/// Fingers are known by name ("right-index-finger"). fprintd does not tell which print belongs to a name.
public final class EnrolledFingers {
  /// A reader, and the fingers that it accepts.
  public struct Reader: Equatable, Sendable {
    /// The reader's name.
    public let name: String
    /// The names of the fingers, in fprintd's order.
    public let fingers: [String]

    /// Makes a value from its parts.
    public init(name: String, fingers: [String]) {
      self.name = name
      self.fingers = fingers
    }
  }

  /// The reason why the fingers are unknown. None of these cases means that there are no fingers.
  public enum Unknown: Error, Equatable, Sendable {
    /// There is no fprintd, or no system bus at all.
    case noService
    /// fprintd has no reader now.
    case noReader
    /// fprintd did not answer in time.
    case silent
    /// fprintd answered with another error, which has this name, or with an unexpected answer.
    case refused(String)
    /// There are more readers than this asks.
    case manyReaders
  }

  /// How long one answer may take, including fprintd's start.
  public static let timeout = Duration.seconds(5)

  private let loop: EventLoop
  private let address: Bus.Address
  private let timeout: Duration
  private var rounds: [ObjectIdentifier: FingerRound] = [:]

  /// Makes an object that asks on the bus at `address`.
  public init(loop: EventLoop, address: Bus.Address = .system, timeout: Duration = EnrolledFingers.timeout) {
    self.loop = loop
    self.address = address
    self.timeout = timeout
  }

  /// Asks fprintd. This calls `answer` once, after this function has returned and at the latest after the timeout. It does not call
  /// `answer` if this object is freed before. `answer` gets all present readers. pam_fprintd chooses among the same readers.
  public func ask(_ answer: @escaping (Result<[Reader], Unknown>) -> Void) {
    let round = FingerRound()
    let id = ObjectIdentifier(round)
    rounds[id] = round
    round.start(loop, address, timeout) { [weak self] result in
      // The round itself calls this, so it must stay alive until the end of the call.
      withExtendedLifetime(self?.rounds.removeValue(forKey: id)) { answer(result) }
    }
  }
}

/// One question to fprintd. It makes its own connection, because an old connection could lead to a bus that has ended.
private final class FingerRound {
  private typealias Outcome = Result<[EnrolledFingers.Reader], EnrolledFingers.Unknown>

  private static let service = "net.reactivated.Fprint"
  private static let manager = (path: "/net/reactivated/Fprint/Manager", interface: service + ".Manager")
  private static let device = service + ".Device"
  /// The most readers that are asked. No machine has more.
  private static let readerLimit = 16

  private var bus: Bus?
  private var timer: EventSource?
  private var timeout = EnrolledFingers.timeout
  private var ended: ((Result<[EnrolledFingers.Reader], EnrolledFingers.Unknown>) -> Void)?
  private var names: [Int: String] = [:]
  private var fingers: [Int: [String]] = [:]

  func start(
    _ loop: EventLoop, _ address: Bus.Address, _ timeout: Duration,
    ended: @escaping (Result<[EnrolledFingers.Reader], EnrolledFingers.Unknown>) -> Void
  ) {
    self.timeout = timeout
    self.ended = ended
    timer = try? loop.addTimer(after: timeout) { [weak self] in self?.end(.failure(.silent)) }
    do {
      let bus = try Bus(address, loop: loop)
      self.bus = bus
      try bus.onDisconnect { [weak self] in self?.end(.failure(.noService)) }
      try call(Self.manager.path, Self.manager.interface, "GetDevices") { [weak self] reply in self?.listed(reply) }
    } catch {
      // The timer makes the answer come after this function has returned.
      timer = try? loop.addTimer(after: .zero) { [weak self] in self?.end(.failure(.noService)) }
    }
  }

  private func call(
    _ path: String, _ interface: String, _ member: String, _ arguments: [String] = [],
    reply: @escaping (Result<Message, BusError>) -> Void
  ) throws(BusError) {
    guard let bus else { throw .disconnected("no bus") }
    try bus.callAsync(
      destination: Self.service, path: path, interface: interface, member: member, timeout: timeout
    ) {
      for argument in arguments { $0.appendString(argument) }
    } reply: {
      reply($0)
    }
  }

  private func listed(_ reply: Result<Message, BusError>) {
    do throws(BusError) {
      let paths = try reply.reading { message throws(BusError) in try message.readObjectPaths() }.get()
      guard !paths.isEmpty else { return end(.failure(.noReader)) }
      guard paths.count <= Self.readerLimit else { return end(.failure(.manyReaders)) }
      for (number, path) in paths.enumerated() {
        try call(path, Bus.properties, "Get", [Self.device, "name"]) { [weak self] reply in
          self?.take(reply, of: paths.count) { (round, message) throws(BusError) in
            round.names[number] = try message.readVariant(.text)
          }
        }
        // An empty name means the caller's user.
        try call(path, Self.device, "ListEnrolledFingers", [""]) { [weak self] reply in
          // This is the only error that is an answer: the user has no fingers.
          if case .failure(let error) = reply, error.name == Self.service + ".Error.NoEnrolledPrints" {
            self?.fingers[number] = []
            self?.complete(paths.count)
            return
          }
          self?.take(reply, of: paths.count) { (round, message) throws(BusError) in
            round.fingers[number] = try message.readStrings()
          }
        }
      }
    } catch { fail(error) }
  }

  private func take(
    _ reply: Result<Message, BusError>, of count: Int, _ read: (FingerRound, Message) throws(BusError) -> Void
  ) {
    do throws(BusError) { try read(self, try reply.get()) } catch { return fail(error) }
    complete(count)
  }

  private func complete(_ count: Int) {
    guard names.count == count, fingers.count == count else { return }
    end(.success((0..<count).map { EnrolledFingers.Reader(name: names[$0] ?? "", fingers: fingers[$0] ?? []) }))
  }

  private func fail(_ error: BusError) {
    let isAbsent = ["ServiceUnknown", "NameHasNoOwner", "Disconnected"].contains { error.isStandard($0) }
    if isAbsent { return end(.failure(.noService)) }
    if error.isStandard("NoReply") || error.isStandard("Timeout") { return end(.failure(.silent)) }
    if error.name == Self.service + ".Error.NoSuchDevice" { return end(.failure(.noReader)) }
    end(.failure(.refused(error.name)))
  }

  private func end(_ outcome: Outcome) {
    guard let ended else { return }
    self.ended = nil
    timer = nil
    bus = nil
    ended(outcome)
  }
}

extension EnrolledFingers.Unknown {
  /// The reason why the fingers are unknown.
  public var reason: Reason {
    switch self {
    case .noService: .finger(.noService)
    case .noReader: .finger(.noReader)
    case .silent: .finger(.silent)
    case .refused(let name): .fingersUntold(name)
    case .manyReaders: .fingersUntold(Reason.finger(.manyReaders).text)
    }
  }
}
