import Glibc
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// The way to the user's daemon: the greeting, the questions, and the delivery of keys.
final class DaemonLink {
  private let runtime: String
  private let uid: uid_t
  private let service: String
  private let tty: String
  private let remoteHost: String
  private let prompt: UInt64
  private let mayCreate: Bool
  /// The deadline for all answers.
  let end: Int
  /// The latest known moment without a lock or a logout since the password, on the clock of `Process.microsecondsSinceBoot`. At
  /// first, this is the moment of the password.
  private var given: UInt64

  /// The time limit for one answer of the daemon, in milliseconds. It is long, because a busy machine slows down the daemon too.
  private static let answerLimit = 10_000
  /// The time for which a login waits until the user's service manager opens the control socket, in milliseconds.
  private static let socketLimit = 1000
  /// The part of the helper's time that is reserved for the delivery, in milliseconds.
  static let deliveryTime = 300

  init(_ request: borrowing DeriveRequest, uid: uid_t, end: Int) {
    runtime = request.runtime.isEmpty ? ControlSocket.runtimeFolder(uid: uid) : request.runtime
    (service, tty, remoteHost) = (request.service, request.tty, request.remoteHost)
    (prompt, mayCreate, given) = (request.prompt, request.mayCreate, request.given)
    (self.uid, self.end) = (uid, end)
  }

  // MARK: - connections

  /// A connection to a daemon that runs, or that the service manager starts.
  func client() throws(ControlError) -> ControlClient { try ControlClient(runtime: runtime, uid: uid) }

  /// Connects like ``client()``, but waits a moment for a service manager that PAM's session modules have just started.
  func connect() throws(ControlError) -> ControlClient {
    let deadline = Process.now + DaemonLink.socketLimit
    while access(ControlSocket.path(runtime: runtime), F_OK) != 0 && access(runtime, F_OK) == 0
      && Process.now < deadline
    {
      usleep(50_000)
    }
    return try client()
  }

  func deadline() -> Int { min(Process.now + DaemonLink.answerLimit, end) }

  // MARK: - who comes

  /// Tells the daemon which user and service authenticate.
  ///
  /// - Parameter limit: the time limit for the daemon, instead of the usual one.
  /// - Returns: the answer if the daemon wants no keys; nil if it wants them.
  func greet(
    _ daemon: borrowing ControlClient, _ stage: Hello.Stage, until limit: Int? = nil
  ) throws(ControlError) -> DeriveResult? {
    let hello = Hello(
      stage: stage, service: service, tty: tty, remoteHost: remoteHost, prompt: prompt, given: given)
    return switch try daemon.ask(hello, until: limit ?? deadline()) {
    case .nothing: .nothingNeeded
    case .refused: .refused
    case .keys: nil
    case .late: .late
    }
  }

  /// Whether the password was given so long ago that the daemon must know the events since then.
  var isLate: Bool {
    let now = Process.microsecondsSinceBoot
    return given < now && now - given > Hello.unknownTime
  }

  /// Notes that a daemon knows this process. The daemon ends the process at a lock or a logout, so a process that still runs has
  /// missed neither until now.
  func noteFollowed() { given = Process.microsecondsSinceBoot }

  /// Tells the daemon that a session began, although the session unlocks nothing. The daemon will hear of the session's end too,
  /// and must count beginning and end.
  func announce() {
    do throws(ControlError) { _ = try greet(try connect(), .openSession) } catch {}
  }

  // MARK: - work and keys

  /// Does slow work that brings no keys to the daemon. The daemon still hears of this process, so that the daemon can end it before
  /// the machine sleeps. If no daemon runs, the work is done without one. If the daemon does not answer, no work is done, because
  /// the daemon could not end this process before sleep.
  func derive<Result: ~Copyable>(_ body: () throws(KeybagError) -> Result) throws -> Result {
    let daemon: ControlClient
    do throws(ControlError) { daemon = try announced() } catch {
      guard error == .noDaemon else { throw error }
      return try body()
    }
    return try daemon.derive(body)
  }

  /// A connection to a daemon that knows the work of this process.
  private func announced() throws(ControlError) -> ControlClient {
    let daemon = try client()
    try daemon.ask(CheckMayDerive(), until: deadline())
    return daemon
  }

  func deliver(_ opened: borrowing Keybag.Opened, to daemon: borrowing ControlClient) throws -> DeriveResult {
    let keybag = opened.keybag
    // Until the first keybag is replaced, the daemon may not have received its keys yet, and so may have no database.
    let delivery = TierDelivery(
      vault: keybag.vault, generation: keybag.generation, created: keybag.awaitsDatabase,
      leftMemory: WorkingMemory.wasLeft, tiers: try opened.tiers(), former: try opened.formerTiers())
    return switch try daemon.deliver(UnlockWithTiers(delivery), until: deadline()) {
    case .live, .staged: .unlocked
    case .refused: .refused
    case .wrongKeys, .unusable: .damaged
    }
  }

  /// Tells the daemon that a password opens nothing. A line that may create no vault may get other passwords than the login's, so
  /// the daemon is not told.
  func noteOtherPassword(_ daemon: borrowing ControlClient) {
    if mayCreate { try? daemon.ask(NoteOtherPassword(), until: deadline()) }
  }

  /// Destroys the items that depend on a login password, because the login has no password any more.
  func endPasscodeItems(at daemon: borrowing ControlClient) throws -> DeriveResult {
    _ = try daemon.ask(DestroyPasscodeItems(passwordRemoved: true), until: deadline())
    return .passwordless
  }
}
