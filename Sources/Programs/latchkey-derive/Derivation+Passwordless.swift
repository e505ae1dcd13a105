import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// A login without a password, and one that gets or loses it.
extension Derivation {
  /// The first login of somebody who has no password: the vault depends on the device key, which only the daemon has.
  borrowing func createWithoutPassword() throws -> DeriveResult {
    let vault = Sodium.randomBytes(16)
    let secret = try secretForCreation(vault)
    return try create { () throws(KeybagError) in
      try Keybag.create(vault: vault, device: secret)
    }
  }

  /// Nothing is written without it. The session began all the same, and is told.
  private borrowing func secretForCreation(_ vault: [UInt8]) throws -> DeviceSecret {
    do {
      _ = try KeybagFile.makeFolder(home: home, owner: account.uid)
      return try connect().newDeviceSecret(
        vault: vault, until: min(Process.now + Derivation.creationSecretLimit, end))
    } catch ControlError.noDaemon {
      throw ControlError.noDaemon
    } catch ControlError.declined(let reason) {
      announce()
      throw DeviceKeyError.unavailable(reason)
    } catch {
      announce()
      throw error
    }
  }

  /// Tells the daemon that a session begins in which nobody gave a password because there is none. Items that depend on the
  /// password end with that. A vault that had a password waits for it, or for its recovery code: nobody here can open it.
  borrowing func openWithoutPassword() throws -> DeriveResult {
    let daemon = try connect()
    if let result = try greet(daemon, .openSession), result == .refused { return result }
    return try endPasscodeItems(at: daemon)
  }

  borrowing func endPasscodeItems(at daemon: borrowing ControlClient) throws -> DeriveResult {
    _ = try daemon.ask(DestroyPasscodeItems(passwordRemoved: true), until: deadline())
    return .passwordless
  }

  /// The login has a password now. The vault gets new keys, because everybody who had the machine could reach the former
  /// ones.
  borrowing func setFirstPassword(
    _ keybag: Keybag, at daemon: borrowing ControlClient
  ) throws -> DeriveResult {
    // Not asked first whether keys could be changed now: a daemon that has just been started still looks at its database, and
    // one login after a start is all that some people do. If keys cannot be changed now, they are at the next unlock.
    do {
      return try protect(try open(keybag, at: daemon), by: request.token.bytes, at: daemon)
    } catch KeybagError.overtaken {
      // While Argon2id ran, the daemon may have opened the vault by the device key, and confirmed that there is a database.
      // Without another try, the vault would stay without a password until the next login.
      let present = try load(from: try folder())
      guard present.isPasswordless else { throw KeybagError.overtaken }
      return try protect(try open(present, at: daemon), by: request.token.bytes, at: daemon)
    }
  }

  /// Lets the first password alone open the vault, under new keys.
  borrowing func protect(
    _ opened: borrowing Keybag.Opened, by password: RawSpan, at daemon: borrowing ControlClient
  ) throws -> DeriveResult {
    let isAwaitingDatabase = KeybagFile.awaitsDatabase(in: try folder())
    let next: Keybag.Opened
    do throws(KeybagError) {
      next = try opened.rotated(password: password, isAwaitingDatabase: isAwaitingDatabase, cost: .measured())
    } catch {
      guard error == .tooManyEpochs else { throw error }
      // New keys wait until nothing depends on former ones. The password does not wait, or the vault would stay without
      // protection for ever.
      let kept = try opened.settingPassword(password, isAwaitingDatabase: isAwaitingDatabase, cost: .measured())
      try KeybagFile.replace(opened.keybag, with: kept, in: try folder())
      // The daemon reads the keybag again when it is asked how things are.
      _ = try? daemon.ask(GetStatus(), until: deadline())
      return .tooManyEpochs
    }
    guard next.keybag.awaitsDatabase else { return try changeKeys(of: opened.keybag, to: next, at: daemon) }
    try KeybagFile.replace(opened.keybag, with: next.keybag, in: try folder())
    // There is no database whose keys could change: these keys make it.
    guard (try? deliver(next, to: daemon)) == .unlocked else { return .begun }
    try? confirm(next, in: try folder())
    return .unlocked
  }

  /// The password is being removed: from now on the device key opens the vault, where the old password still can; and items
  /// that depend on the password end. It is believed unless the system says that there still is one.
  borrowing func removePassword() throws -> DeriveResult {
    guard login != .some else { return .nothingNeeded }
    guard try vault() == .present else { return .noVault }
    let daemon = try connect()
    var failure: (any Error)?
    if request.token.count > 0 {
      do { try standOnDevice(daemon) } catch { failure = error }
    }
    // Items that depend on the password end in any case.
    _ = try daemon.ask(DestroyPasscodeItems(passwordRemoved: true), until: deadline())
    if let failure { throw failure }
    return .passwordless
  }

  private borrowing func standOnDevice(_ daemon: borrowing ControlClient) throws {
    let keybag = try load(from: try folder())
    guard !keybag.isPasswordless else { return }
    let opened = try keybag.open(password: request.token.bytes)
    let secret = try daemon.newDeviceSecret(vault: keybag.vault, until: deadline())
    let folder = try folder()
    let next = try opened.removingPassword(secret, isAwaitingDatabase: KeybagFile.awaitsDatabase(in: folder))
    try KeybagFile.replace(keybag, with: next, in: folder)
  }

  /// Opens the keybag by the login password; where the login has none, by the device key.
  borrowing func open(_ keybag: Keybag, at daemon: borrowing ControlClient) throws -> Keybag.Opened {
    guard keybag.isPasswordless else {
      return try daemon.derive { () throws(KeybagError) in try keybag.open(password: request.token.bytes) }
    }
    return try keybag.open(deviceSecret: try daemon.presentDeviceSecret(until: deadline()))
  }
}
