import Glibc
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// The way to the user's daemon: who comes, what it is asked, and the keys that it gets.
final class DaemonLink {
  private let runtime: String
  private let uid: uid_t
  private let service: String
  private let tty: String
  private let remoteHost: String
  private let prompt: UInt64
  private let mayCreate: Bool
  /// By when every answer must be there.
  let end: Int
  /// Until when it is known that nothing came between which the password must not outlast, on the clock of
  /// `Process.microsecondsSinceBoot`: at first, when it was given.
  private var given: UInt64

  /// How long the daemon may take for one answer, in milliseconds. It may be as starved as this process.
  private static let answerLimit = 10_000
  /// How long a login waits for the user's service manager to open the control socket, in milliseconds.
  private static let socketLimit = 1000
  /// How much of its time is kept for telling the daemon, in milliseconds.
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

  /// The same, waiting a moment for a service manager that is just starting: PAM's session modules run beside it.
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

  /// Says who comes.
  ///
  /// - Parameter limit: how long the daemon may take, in place of the usual time.
  /// - Returns: the answer if no keys are wanted; nil if they are.
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

  /// Whether the password was given so long ago that what came since must be known.
  var isLate: Bool {
    let now = Process.microsecondsSinceBoot
    return given < now && now - given > Hello.unknownTime
  }

  /// A daemon knows of this process by now, and would have ended it at an event that is later than the password.
  func noteFollowed() { given = Process.microsecondsSinceBoot }

  /// Tells that a session began although nothing can be unlocked in it: its end will be told as well.
  func announce() {
    do throws(ControlError) { _ = try greet(try connect(), .openSession) } catch {}
  }

  // MARK: - work and keys

  /// Does slow work, if no keys follow that the daemon would wait for. It is told all the same, so that it ends this process
  /// before the machine sleeps. A vault with a password needs no daemon: where none runs, nobody is told. One that does not
  /// answer may still hold sleep up, for a process that it does not know: nothing is done then.
  func derive<Result: ~Copyable>(_ body: () throws(KeybagError) -> Result) throws -> Result {
    let daemon: ControlClient
    do throws(ControlError) { daemon = try announced() } catch {
      guard error == .noDaemon else { throw error }
      return try body()
    }
    return try daemon.derive(body)
  }

  /// A connection to a daemon that knows what this process is about to do.
  private func announced() throws(ControlError) -> ControlClient {
    let daemon = try client()
    try daemon.ask(CheckMayDerive(), until: deadline())
    return daemon
  }

  func deliver(_ opened: borrowing Keybag.Opened, to daemon: borrowing ControlClient) throws -> DeriveResult {
    let keybag = opened.keybag
    // Until the first keybag is replaced, the daemon may never have got its keys, and so have no database yet.
    let delivery = TierDelivery(
      vault: keybag.vault, generation: keybag.generation, created: keybag.awaitsDatabase,
      leftMemory: WorkingMemory.wasLeft, tiers: try opened.tiers(), former: try opened.formerTiers())
    return switch try daemon.deliver(UnlockWithTiers(delivery), until: deadline()) {
    case .live, .staged: .unlocked
    case .refused: .refused
    case .wrongKeys, .unusable: .damaged
    }
  }

  /// Tells the daemon that a password opens nothing. Where none may create a vault, others than the login password are
  /// expected, and say nothing of it.
  func noteOtherPassword(_ daemon: borrowing ControlClient) {
    if mayCreate { try? daemon.ask(NoteOtherPassword(), until: deadline()) }
  }

  /// Destroys the items that depend on a login password, because there is none any more.
  func endPasscodeItems(at daemon: borrowing ControlClient) throws -> DeriveResult {
    _ = try daemon.ask(DestroyPasscodeItems(passwordRemoved: true), until: deadline())
    return .passwordless
  }
}
