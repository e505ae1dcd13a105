import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// The beginning of a session, after the whole PAM stack has accepted the password. It creates the vault if there is none, and
/// unlocks it.
struct SessionOpening {
  let run: Run

  func perform() throws -> DeriveResult {
    let isPasswordless = run.login == .none
    guard run.request.token.count > 0 || isPasswordless else { return try SessionKeyOpening(run: run).perform() }
    let presence: KeybagPlace.Presence
    do throws(KeybagError) { presence = try run.keybags.presence() } catch {
      run.daemon.announce()
      throw error
    }
    guard presence == .absent else { return isPasswordless ? try openWithoutPassword() : try openVault() }
    guard run.mayTrustToken else {
      run.daemon.announce()
      return .noVault
    }
    return isPasswordless ? try createWithoutPassword() : try createByPassword()
  }

  // MARK: - a session with a vault

  private func openVault() throws -> DeriveResult {
    let daemon = try run.daemon.connect()
    if let result = try run.daemon.greet(daemon, .openSession) { return result }
    return try openVault(at: daemon)
  }

  private func openVault(at daemon: borrowing ControlClient) throws -> DeriveResult {
    let keybag = try run.keybags.load()
    // A token that may be another password proves nothing about the login password.
    guard keybag.isPasswordless else {
      if run.request.isBeside, keybag.isSettled { run.letCallerGo() }
      return try KeybagUnlock(run: run).unlock(keybag, at: daemon, proving: run.request.mayCreate)
    }
    return run.mayTrustToken ? try FirstPassword(run: run).set(keybag, at: daemon) : .nothingNeeded
  }

  /// Tells the daemon that the login of this session has no password. Then the items that depend on a password are destroyed. A
  /// vault that had a password stays locked until somebody gives that password or the recovery code.
  private func openWithoutPassword() throws -> DeriveResult {
    let daemon = try run.daemon.connect()
    if let result = try run.daemon.greet(daemon, .openSession), result == .refused { return result }
    return try run.daemon.endPasscodeItems(at: daemon)
  }

  // MARK: - a first session

  /// The time in which the daemon must get the device key's secret of a new vault, in milliseconds. The daemon itself waits a few
  /// seconds less for a device key service that is starting.
  private static let secretLimit = 25_000

  private func createByPassword() throws -> DeriveResult {
    try create { () throws(KeybagError) in
      try Keybag.create(password: run.request.token, cost: .measured())
    }
  }

  /// Creates the vault of a login without a password. It depends on the device key, which only the daemon has.
  private func createWithoutPassword() throws -> DeriveResult {
    let vault = Sodium.randomBytes(16)
    let secret = try secretForCreation(vault)
    return try create { () throws(KeybagError) in
      try Keybag.create(vault: vault, device: secret)
    }
  }

  /// The secret for a new keybag. Without it nothing is written, but the daemon still hears that the session began.
  private func secretForCreation(_ vault: [UInt8]) throws -> DeviceSecret {
    do {
      try run.keybags.makeFolder()
      return try run.daemon.connect().newDeviceSecret(
        vault: vault, until: min(Process.now + SessionOpening.secretLimit, run.end))
    } catch ControlError.noDaemon {
      throw ControlError.noDaemon
    } catch ControlError.declined(let reason) {
      run.daemon.announce()
      throw DeviceKeyError.unavailable(reason)
    } catch {
      run.daemon.announce()
      throw error
    }
  }

  /// Writes the first keybag, and lets the daemon make the database.
  ///
  /// The daemon hears of the login before any key is derived, so that a lock or a logout meanwhile counts as later than the login.
  private func create(_ make: () throws(KeybagError) -> Keybag.Opened) throws -> DeriveResult {
    let daemon: ControlClient
    do throws(ControlError) { daemon = try run.daemon.connect() } catch {
      // No daemon runs. The next authentication unlocks the new vault.
      do throws(KeybagError) { _ = try run.keybags.create(make) } catch {
        guard error == .alreadyThere, (try? run.keybags.presence()) == .present else { throw error }
        return run.login == .none ? try openWithoutPassword() : try openVault()
      }
      return .created
    }
    return try create(at: daemon, make)
  }

  private func create(
    at daemon: borrowing ControlClient, _ make: () throws(KeybagError) -> Keybag.Opened
  ) throws -> DeriveResult {
    var need: DeriveResult? = .refused
    do throws(ControlError) { need = try run.daemon.greet(daemon, .openSession) } catch {
      if error == .otherVersion || error == .givesWay { throw error }
    }
    let opened: Keybag.Opened
    do throws(KeybagError) {
      // If the daemon wants no keys, it ends the connection soon, so the work is done without it. The vault is created in any case.
      let isWanted = need == nil
      opened = try run.keybags.create { () throws(KeybagError) in isWanted ? try daemon.derive(make) : try make() }
    } catch {
      // Another login of the same moment has created the vault.
      guard error == .alreadyThere, (try? run.keybags.presence()) == .present else { throw error }
      if let need { return need }
      return run.login == .none ? try run.daemon.endPasscodeItems(at: daemon) : try openVault(at: daemon)
    }
    guard need == nil else { return need == .late ? .late : .created }
    do {
      let result = try run.daemon.deliver(opened, to: daemon)
      if result == .unlocked { try? run.keybags.confirm(opened) }
      return result == .damaged ? .damaged : .created
    } catch is ControlError {
      // The vault exists, and the next authentication unlocks it.
      return .created
    }
  }
}
