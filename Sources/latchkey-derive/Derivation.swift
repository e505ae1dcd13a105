import Control
import Glibc
import Keybag
import Posix
import Sodium

/// One run of the helper, as the user: from a password to keys in the daemon.
struct Derivation: ~Copyable {
  private let request: DeriveRequest
  private let account: Account
  private let home: String
  private let runtime: String

  /// How long the daemon may take for one answer, in milliseconds.
  private static let answerLimit = 1200
  /// How long a login waits for the user's service manager to open the control socket, in milliseconds.
  private static let socketLimit = 1000

  init(_ request: consuming DeriveRequest, account: Account) {
    home = request.home.isEmpty ? account.home : request.home
    runtime = request.runtime.isEmpty ? ControlSocket.runtimeFolder(uid: account.uid) : request.runtime
    self.request = request
    self.account = account
  }

  borrowing func run() -> DeriveResult {
    switch request.operation {
    case .authenticate: authenticate()
    case .openSession: openSession()
    case .closeSession: closeSession()
    }
  }

  private func hello(_ stage: Hello.Stage) -> Hello {
    Hello(stage: stage, service: request.service, tty: request.tty, remoteHost: request.remoteHost)
  }

  private static var answerDeadline: Int { Process.now + answerLimit }

  // MARK: - operations

  /// Only tries to unlock: the password is not verified yet, so nothing is founded or changed by it.
  private borrowing func authenticate() -> DeriveResult {
    do {
      let daemon = try ControlClient(runtime: runtime, uid: account.uid)
      switch try daemon.hello(hello(.authenticate), until: Derivation.answerDeadline) {
      case .nothing: return .nothingNeeded
      case .refused: return .refused
      case .keys: break
      }
      let opened = try KeybagFile.load(from: try folder()).open(password: request.token.bytes)
      return try deliver(opened, founded: opened.keybag.generation == 1, to: daemon)
    } catch {
      return Derivation.result(of: error)
    }
  }

  /// The whole stack has accepted the password: founds the vault where there is none, and unlocks.
  private borrowing func openSession() -> DeriveResult {
    do {
      guard request.token.count > 0 else {
        let daemon = try connect()
        _ = try daemon.hello(hello(.openSession), until: Derivation.answerDeadline)
        return .nothingNeeded
      }
      if try !vaultExists() {
        guard mayFound else { return .noVault }
        return try found()
      }
      let daemon = try connect()
      switch try daemon.hello(hello(.openSession), until: Derivation.answerDeadline) {
      case .nothing: return .nothingNeeded
      case .refused: return .refused
      case .keys: break
      }
      let folder = try folder()
      let opened = try KeybagFile.load(from: folder).open(password: request.token.bytes)
      let result = try deliver(opened, founded: opened.keybag.generation == 1, to: daemon)
      // Only now is a database certain to be there: from the second generation on a missing one is a loss.
      if result == .unlocked && opened.keybag.protectors[opened.protector].state == .unproven {
        try KeybagFile.replace(with: try opened.proving(), in: folder)
      }
      return result
    } catch {
      return Derivation.result(of: error)
    }
  }

  private borrowing func closeSession() -> DeriveResult {
    do {
      let daemon = try ControlClient(runtime: runtime, uid: account.uid)
      _ = try daemon.hello(hello(.closeSession), until: Derivation.answerDeadline)
      return .closed
    } catch {
      return Derivation.result(of: error)
    }
  }

  // MARK: - steps

  /// System accounts get no vault: nobody logs in as them with a password that should last.
  private var mayFound: Bool { request.mayFound && account.uid >= Account.firstPersonUID }

  private borrowing func found() throws -> DeriveResult {
    let opened = try KeybagFile.found(home: home, owner: account.uid, password: request.token.bytes)
    do {
      let daemon = try connect()
      guard case .keys = try daemon.hello(hello(.openSession), until: Derivation.answerDeadline) else {
        return .founded
      }
      guard try deliver(opened, founded: true, to: daemon) == .unlocked else { return .damaged }
    } catch is ControlError {
      // The vault is there; the next authentication unlocks it.
    }
    return .founded
  }

  private borrowing func folder() throws(KeybagError) -> Folder {
    try KeybagFile.folder(home: home, owner: account.uid)
  }

  /// Whether a keybag or a database is there: then nothing is founded, even if one of the two is missing.
  private borrowing func vaultExists() throws(KeybagError) -> Bool {
    do {
      let folder = try folder()
      return folder.contains(KeybagFile.name) || folder.contains(KeybagFile.database)
    } catch where error == .missing {
      return false
    }
  }

  /// Connects, waiting a moment for a service manager that is just starting: PAM's session modules run beside it.
  private borrowing func connect() throws(ControlError) -> ControlClient {
    let deadline = Process.now + Derivation.socketLimit
    while access(ControlSocket.path(runtime: runtime), F_OK) != 0 && access(runtime, F_OK) == 0
      && Process.now < deadline
    {
      usleep(50_000)
    }
    return try ControlClient(runtime: runtime, uid: account.uid)
  }

  private borrowing func deliver(
    _ opened: borrowing Keybag.Opened, founded: Bool, to daemon: borrowing ControlClient
  ) throws -> DeriveResult {
    let keybag = opened.keybag
    let delivery = TierDelivery(
      vault: keybag.vault, generation: keybag.generation, founded: founded, tiers: try opened.tiers())
    return switch try daemon.unlock(delivery, until: Derivation.answerDeadline) {
    case .live, .staged: .unlocked
    case .refused: .refused
    case .wrongKeys, .unusable: .damaged
    }
  }

  private static func result(of error: any Error) -> DeriveResult {
    switch error {
    case ControlError.noDaemon: .noDaemon
    case ControlError.silent: .daemonSilent
    case is ControlError: .refused
    case KeybagError.missing: .noVault
    case KeybagError.wrongPassword: .wrongPassword
    case KeybagError.noMemory: .noMemory
    case KeybagError.file: .homeUnavailable
    case is KeybagError: .damaged
    default: .internalError
    }
  }
}
