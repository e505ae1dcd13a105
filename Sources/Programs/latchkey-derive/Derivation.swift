import Glibc
import LatchkeyControl
import LatchkeyDeviceService
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// One run of the helper, as the user: from a password to keys in the daemon.
struct Derivation: ~Copyable {
  let request: DeriveRequest
  let account: Account
  /// Whether the login has a password, as far as it is known.
  let login: LoginPassword
  /// Whether it may be opened by the device key where nobody gave a password.
  let admission: SessionAdmission
  let home: String
  let runtime: String

  private let given: Given
  /// Has the caller go on without the result.
  private let letCallerGo: () -> Void
  /// By when every answer must be there, however many there are: before the supervisor ends the process.
  let end: Int
  /// The home folder as it was at first.
  private let place = Place()

  /// Where the home folder is. One that was unmounted meanwhile leaves another in its place.
  private final class Place {
    /// nil until it is looked for: a home that hangs must not hold up the first word to the daemon.
    var identity: Folder.Identity??
  }

  /// Until when it is known that nothing came between which the password must not outlast, on the clock of
  /// `Process.microsecondsSinceBoot`: at first, when it was given.
  private final class Given {
    var moment: UInt64
    init(_ moment: UInt64) { self.moment = moment }
  }

  /// How long the daemon may take for one answer, in milliseconds. It may be as starved as this process.
  private static let answerLimit = 10_000
  /// How long it may take for the device key's secret of a new vault, in milliseconds. The daemon waits that long, less a
  /// few seconds, for a device key service that is starting.
  static let creationSecretLimit = 25_000
  /// How much of its time is kept for telling the daemon, in milliseconds.
  static let deliveryTime = 300
  /// How long a daemon may take to heal the keybag, in milliseconds.
  private static let healingLimit = 500
  /// How long a login waits for the user's service manager to open the control socket, in milliseconds.
  private static let socketLimit = 1000

  /// - Parameters:
  ///   - begun: when the process began, on the clock of `Process.sinceBoot`.
  ///   - letCallerGo: has the caller go on without the result.
  init(
    _ request: consuming DeriveRequest, account: Account, login: LoginPassword, admission: consuming SessionAdmission,
    begun: Int, letCallerGo: @escaping () -> Void
  ) {
    self.letCallerGo = letCallerGo
    self.login = login
    self.admission = admission
    home = request.home.isEmpty ? account.home : request.home
    runtime = request.runtime.isEmpty ? ControlSocket.runtimeFolder(uid: account.uid) : request.runtime
    given = Given(request.given)
    end = Process.now + begun + Supervisor.limit - 5000 - Process.sinceBoot
    self.request = request
    self.account = account
  }

  borrowing func run() -> DeriveResult {
    do {
      do { return try serve() } catch ControlError.givesWay {
        // Once: where the installed one is of another version as well, nothing is gained by ending that.
        if let result = try replaceDaemon() { return result }
        return try serve()
      }
    } catch { return Derivation.result(of: error) }
  }

  private borrowing func serve() throws -> DeriveResult {
    switch request.operation {
    case .authenticate: try authenticate()
    case .openSession: try openSession()
    case .createVault: try createVault()
    case .closeSession: try closeSession()
    case .passphrase: try passphrase()
    case .rotate: try rotate()
    case .createRecoveryCode: try createRecoveryCode()
    case .checkRecoveryCode: try checkRecoveryCode()
    case .recover: try recover()
    case .removeRecoveryCode: try removeRecoveryCode()
    case .removePassword: try removePassword()
    case .changePassword: try changePassword()
    case .rewrap: try rewrap()
    case .addSession: try addSession()
    case .removeSession: try removeSession()
    }
  }

  // MARK: - operations

  /// Only tries to unlock: nothing is created by it, and nothing changed but that keys go that nothing depends on, and that
  /// one of two passwords is proven where no session will follow that does.
  private borrowing func authenticate() throws -> DeriveResult {
    let daemon = try ControlClient(runtime: runtime, uid: account.uid)
    if let result = try greet(daemon, .authenticate) { return result }
    let keybag = try load(from: try folder())
    // Of a single password only a second login says that it stays. A daemon that does not say how it is stops no unlock.
    let proves = request.mayCreate && keybag.passwordCount > 1 && (try? isLastStep()) ?? false
    return try unlock(keybag, at: daemon, proving: proves)
  }

  /// Whether this is all that there is of the authentication, as with a screen locker or a prompt.
  private borrowing func isLastStep() throws(ControlError) -> Bool {
    guard !request.isUnlock else { return true }
    // On a separate connection, so that a late answer is not taken for that to the next request.
    return try ControlClient(runtime: runtime, uid: account.uid).ask(GetStatus(), until: deadline()).state == .locked
  }

  /// The whole stack has accepted the password: creates the vault if there is none, and unlocks.
  private borrowing func openSession() throws -> DeriveResult {
    let isPasswordless = login == .none
    guard request.token.count > 0 || isPasswordless else {
      return try openWithoutToken()
    }
    let presence: Presence
    do throws(KeybagError) { presence = try vault() } catch {
      announce()
      throw error
    }
    guard presence == .absent else { return isPasswordless ? try openWithoutPassword() : try openVault() }
    guard mayTrustToken else {
      announce()
      return .noVault
    }
    return isPasswordless ? try createWithoutPassword() : try create()
  }

  /// The whole stack has accepted the password that a person was asked for because there is no vault: creates it, and
  /// unlocks it. A vault that is there by now is unlocked as by any other prompt.
  private borrowing func createVault() throws -> DeriveResult {
    guard mayTrustToken else { return .noVault }
    let daemon = try ControlClient(runtime: runtime, uid: account.uid)
    // Asked first: a vault that may not be unlocked now is not created now.
    if let result = try greet(daemon, .authenticate) { return result }
    let opened: Keybag.Opened
    do throws(KeybagError) {
      guard try vault() == .absent else { throw .alreadyThere }
      opened = try write { () throws(KeybagError) in
        try daemon.derive { () throws(KeybagError) in
          try Keybag.create(password: request.token.bytes, cost: .measured())
        }
      }
    } catch {
      // A login, or another prompt, was faster.
      guard error == .alreadyThere, (try? vault()) == .present else { throw error }
      return try unlock(try load(from: try folder()), at: daemon, proving: false)
    }
    let result = try deliver(opened, to: daemon)
    guard result == .unlocked else { return result }
    try? confirm(opened, in: try folder())
    return .created
  }

  /// Whether the password of this login may open the vault from now on.
  var mayTrustToken: Bool { request.mayCreate && CreationPolicy.allows(account, service: request.service) }

  private borrowing func closeSession() throws -> DeriveResult {
    _ = try greet(try ControlClient(runtime: runtime, uid: account.uid), .closeSession)
    return .closed
  }

  /// Turns a collection's passphrase into its key, for one prompt. The keybag has no part in it.
  private borrowing func passphrase() throws -> DeriveResult {
    let daemon = try ControlClient(runtime: runtime, uid: account.uid)
    let derivation = try daemon.ask(GetDerivation(prompt: request.prompt, given: request.given), until: deadline())
    let derived = try daemon.derive { () throws(KeybagError) in try derivation.key(request.token.bytes) }
    let key = PassphraseKey(prompt: request.prompt, key: derived)
    return switch try daemon.deliver(key, until: deadline()) {
    case .live: .unlocked
    case .wrongKeys: .wrongPassword
    // Keys that wait have opened nothing yet.
    case .refused, .staged: .refused
    case .unusable: .damaged
    }
  }

  // MARK: - a session with a vault

  private borrowing func openVault() throws -> DeriveResult {
    let daemon = try connect()
    if let result = try greet(daemon, .openSession) { return result }
    return try openVault(at: daemon)
  }

  private borrowing func openVault(at daemon: borrowing ControlClient) throws -> DeriveResult {
    let keybag = try load(from: try folder())
    // A token that may not be the login password proves nothing about it.
    guard keybag.isPasswordless else {
      if request.isBeside, keybag.isSettled { letCallerGo() }
      return try unlock(keybag, at: daemon, proving: request.mayCreate)
    }
    return mayTrustToken ? try setFirstPassword(keybag, at: daemon) : .nothingNeeded
  }

  private borrowing func create() throws -> DeriveResult {
    try create { () throws(KeybagError) in try Keybag.create(password: request.token.bytes, cost: .measured()) }
  }

  /// Writes the first keybag, and lets the daemon make the database.
  ///
  /// The daemon hears of the login before anything is derived: a lock or a logout that comes meanwhile is later than this.
  borrowing func create(_ make: () throws(KeybagError) -> Keybag.Opened) throws -> DeriveResult {
    let daemon: ControlClient
    do throws(ControlError) { daemon = try connect() } catch {
      // The next authentication unlocks what is created here.
      do throws(KeybagError) { _ = try write(make) } catch {
        guard error == .alreadyThere, (try? vault()) == .present else { throw error }
        return login == .none ? try openWithoutPassword() : try openVault()
      }
      return .created
    }
    return try create(at: daemon, make)
  }

  private borrowing func create(
    at daemon: borrowing ControlClient, _ make: () throws(KeybagError) -> Keybag.Opened
  ) throws -> DeriveResult {
    var need: DeriveResult? = .refused
    do throws(ControlError) { need = try greet(daemon, .openSession) } catch {
      if error == .otherVersion || error == .givesWay { throw error }
    }
    let opened: Keybag.Opened
    do throws(KeybagError) {
      // A daemon that wants no keys ends the connection soon: the vault is created all the same.
      let isWanted = need == nil
      opened = try write { () throws(KeybagError) in isWanted ? try daemon.derive(make) : try make() }
    } catch {
      // Another login of the same moment was faster: its vault is this one's.
      guard error == .alreadyThere, (try? vault()) == .present else { throw error }
      if let need { return need }
      return login == .none ? try endPasscodeItems(at: daemon) : try openVault(at: daemon)
    }
    guard need == nil else { return need == .late ? .late : .created }
    do {
      let result = try deliver(opened, to: daemon)
      if result == .unlocked { try? confirm(opened, in: try folder()) }
      return result == .damaged ? .damaged : .created
    } catch is ControlError {
      // The vault is there; the next authentication unlocks it.
      return .created
    }
  }

  /// Slow work comes first, while nothing in the home folder is held.
  private borrowing func write(
    _ make: () throws(KeybagError) -> Keybag.Opened
  ) throws(KeybagError) -> Keybag.Opened {
    try checkPlace()
    _ = try KeybagFile.makeFolder(home: home, owner: account.uid)
    var made: Keybag.Opened? = try make()
    try checkPlace()
    return try KeybagFile.create(home: home, owner: account.uid) { () throws(KeybagError) in
      guard let opened = made.take() else { throw .damaged }
      return opened
    }
  }

  // MARK: - the daemon

  borrowing func deadline() -> Int { min(Process.now + Derivation.answerLimit, end) }

  /// Says who comes.
  ///
  /// - Parameter limit: how long the daemon may take, in place of the usual time.
  /// - Returns: the answer if no keys are wanted; nil if they are.
  borrowing func greet(
    _ daemon: borrowing ControlClient, _ stage: Hello.Stage, until limit: Int? = nil
  ) throws(ControlError) -> DeriveResult? {
    let hello = Hello(
      stage: stage, service: request.service, tty: request.tty, remoteHost: request.remoteHost, prompt: request.prompt,
      given: given.moment)
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
    return given.moment < now && now - given.moment > Hello.unknownTime
  }

  /// A daemon knows of this process by now, and would have ended it at an event that is later than the password.
  borrowing func noteFollowed() { given.moment = Process.microsecondsSinceBoot }

  /// Tells that a session began although nothing can be unlocked in it: its end will be told as well.
  borrowing func announce() {
    do throws(ControlError) { _ = try greet(try connect(), .openSession) } catch {}
  }

  /// Connects, waiting a moment for a service manager that is just starting: PAM's session modules run beside it.
  borrowing func connect() throws(ControlError) -> ControlClient {
    let deadline = Process.now + Derivation.socketLimit
    while access(ControlSocket.path(runtime: runtime), F_OK) != 0 && access(runtime, F_OK) == 0
      && Process.now < deadline
    {
      usleep(50_000)
    }
    return try ControlClient(runtime: runtime, uid: account.uid)
  }

  borrowing func deliver(
    _ opened: borrowing Keybag.Opened, to daemon: borrowing ControlClient
  ) throws -> DeriveResult {
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

  // MARK: - the vault

  /// Whether there is a vault. One without its keybag is damaged, and no other is created in its place.
  enum Presence {
    case absent
    case present
  }

  borrowing func vault() throws(KeybagError) -> Presence {
    do throws(KeybagError) {
      let folder = try folder()
      if folder.contains(KeybagFile.name) || KeybagFile.isMissing(butCopiedIn: folder) { return .present }
      guard !folder.contains(KeybagFile.database) else { throw KeybagError.alreadyThere }
      return .absent
    } catch {
      guard error == .missing else { throw error }
      return .absent
    }
  }

  borrowing func load(from folder: borrowing Folder) throws(KeybagError) -> Keybag {
    do { return try KeybagFile.load(from: folder) } catch {
      if let healed = heal(folder) { return healed }
      throw error == .missing && folder.contains(KeybagFile.database) ? .alreadyThere : error
    }
  }

  /// The keybag with its copy in the place of a damaged or missing one; nil where that cannot be.
  private borrowing func heal(_ folder: borrowing Folder) -> Keybag? {
    guard folder.contains(KeybagFile.copyName) else { return nil }
    // A daemon that is asked how things are looks at the files, does the same, and tells the person.
    if let daemon = try? ControlClient(runtime: runtime, uid: account.uid) {
      _ = try? daemon.ask(GetStatus(), until: min(Process.now + Derivation.healingLimit, end))
    }
    _ = KeybagFile.heal(in: folder)
    return try? KeybagFile.load(from: folder)
  }

  /// Opens the keybag with the password, and hands the keys over.
  ///
  /// - Parameter proving: whether the keybag then says that the password served again, and leaves others out.
  private borrowing func unlock(
    _ keybag: Keybag, at daemon: borrowing ControlClient, proving: Bool
  ) throws -> DeriveResult {
    var opened: Keybag.Opened
    do throws(KeybagError) {
      opened = try daemon.derive { () throws(KeybagError) in try keybag.open(password: request.token.bytes) }
    } catch {
      // The person at the session must learn why the vault stays locked, and what helps.
      if error == .wrongPassword { note(to: daemon) }
      throw error
    }
    // Minutes may have passed. The present keybag counts: a password that ended meanwhile opens nothing.
    let folder = try folder()
    let present = try load(from: folder)
    if present != keybag {
      guard let again = try opened.reopening(present) else { throw KeybagError.overtaken }
      opened = again
    }
    let result = try deliver(opened, to: daemon)
    guard result == .unlocked else { return result }
    if let slowness = opened.slowness {
      try? daemon.ask(NoteSlowPassword(milliseconds: UInt32(clamping: slowness)), until: deadline())
    }
    let oldest = keybag.epochs.count > 1 ? (try? daemon.ask(GetNeededEpoch(), until: deadline())) ?? 0 : 0
    let isProving = proving && (opened.mayEndOthers() || !request.isUnlock)
    // The next login tries again if this fails.
    let isWritten = try? rewrite(opened, in: folder) { (opened, _) throws(KeybagError) in
      if let next = try opened.dropping(epochsBefore: oldest, proving: isProving) { return next }
      return opened.keybag.awaitsDatabase ? try opened.confirming() : nil
    }
    if isWritten != true { KeybagFile.keepCopy(of: opened.keybag, in: folder) }
    return result
  }

  /// Raises the keybag's generation after keys were taken. They made a database: from now on a missing one is a loss.
  borrowing func confirm(
    _ opened: borrowing Keybag.Opened, in folder: borrowing Folder
  ) throws(KeybagError) {
    try rewrite(opened, in: folder) { (opened, _) throws(KeybagError) in
      opened.keybag.awaitsDatabase ? try opened.confirming() : nil
    }
  }

  /// Puts the keybag that `change` makes in the place of the present one. If another process was faster, as a login of the same
  /// moment, it is made of that process's keybag. Nothing is derived again for it.
  ///
  /// - Parameter change: makes the keybag; nil where none is to be written.
  /// - Returns: Whether one was written.
  @discardableResult borrowing func rewrite(
    _ opened: borrowing Keybag.Opened, in folder: borrowing Folder,
    _ change: (borrowing Keybag.Opened, borrowing Folder) throws(KeybagError) -> Keybag?
  ) throws(KeybagError) -> Bool {
    func write(_ opened: borrowing Keybag.Opened) throws(KeybagError) -> Bool {
      guard let next = try change(opened, folder) else { return false }
      try KeybagFile.replace(opened.keybag, with: next, in: folder)
      return true
    }
    do throws(KeybagError) { return try write(opened) } catch { guard error == .overtaken else { throw error } }
    var triesLeft = 2
    while true {
      triesLeft -= 1
      guard let again = try opened.reopening(try load(from: folder)) else { throw .overtaken }
      do throws(KeybagError) { return try write(again) } catch {
        guard error == .overtaken, triesLeft > 0 else { throw error }
      }
    }
  }

  /// Tells the daemon that a password opens nothing. Where none may create a vault, others than the login password are
  /// expected, and say nothing of it.
  borrowing func note(to daemon: borrowing ControlClient) {
    if request.mayCreate { try? daemon.ask(NoteOtherPassword(), until: deadline()) }
  }

  /// Held for no longer than a file is read or written: an open folder keeps a home from being unmounted.
  borrowing func folder() throws(KeybagError) -> Folder {
    try checkPlace()
    return try KeybagFile.folder(home: home, owner: account.uid)
  }

  /// A late write must not land below the place where a home was mounted.
  borrowing func checkPlace() throws(KeybagError) {
    let present = Folder.Identity(path: home)
    let before: Folder.Identity? = place.identity ?? present
    place.identity = .some(before)
    guard present == before else { throw .missing }
  }

  private static func result(of error: any Error) -> DeriveResult {
    switch error {
    case ControlError.noDaemon: .noDaemon
    case ControlError.silent, ControlError.broken: .daemonSilent
    case ControlError.otherVersion, ControlError.givesWay: .otherVersion
    case ControlError.strangeDaemon, ControlError.declined: .refused
    case KeybagError.missing: .noVault
    case KeybagError.wrongPassword: .wrongPassword
    case KeybagError.noMemory: .noMemory
    case KeybagError.overtaken: .overtaken
    case KeybagError.tooManyEpochs: .tooManyEpochs
    case KeybagError.file: .homeUnavailable
    case is DeviceKeyError: .noDeviceKey
    case is AdmittedServices.Unbelieved: .servicesUnbelieved
    case is KeybagError: .damaged
    default: .internalError
    }
  }
}
