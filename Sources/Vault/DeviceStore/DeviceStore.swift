// DeviceStore: the state of the device key service on the disk.
//
// `latchkey-deviced` keeps one secret of the machine. From it and a salt, each user gets a device key.
// ``DeviceStore`` has all these values: the secret, and for each user a salt, an erasable secret, and
// the generations of the user's vaults. ``DeviceSeal`` protects the machine's secret on the disk:
// ``TPMSeal`` if there is a chip, and ``HostSeal`` otherwise.
//
//     let store = try DeviceStore(path: "/var/lib/latchkey", seals: seals, hasAccount: check, log: log)
//
// ``KnownVaults`` are the generations of a user's vaults. They distinguish an older copy of the files
// from the newest files. ``StateFile`` is the form of each file: magic, version, content, check sum.
//
// The module promises that the machine's secret is made once and never replaced. A damaged file, or a
// seal that does not open, stays an error that the administrator sees. A user's erasable secret is
// overwritten before its file is removed. Interrupted work is finished at the next start. Only one
// service works on the state. After a failure of the chip, the service waits, so that no user can keep
// the chip busy.
//
// It does not know which user asks: the program gets the user's number from the kernel and passes it
// on. It does not speak any protocol: DeviceService in Wire does. It never reveals the machine's
// secret, and no call returns a device key. FORMAT.md has the files byte by byte.

import Glibc
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium

/// The state of the device service: one secret of the machine, and for each user a salt, an erasable secret, and the generations of
/// the user's vaults.
///
/// The secret is made at the first use. An existing one is never replaced: a damaged file, or a seal that does not open,
/// stays an error.
public final class DeviceStore {
  private let folder: Folder
  private let users: Folder
  /// The lock, held so that no second service works on the same state.
  private let lock: FileDescriptor
  /// The seals, strongest first.
  private let seals: [any DeviceSeal]
  private let hasAccount: (uid_t) -> Bool?
  private let log: (String) -> Void

  private struct Secret: ~Copyable {
    let key: Key
    let seal: any DeviceSeal
  }
  private var secret: Secret?
  /// After a failure, nothing is tried again at once, because any user could keep the chip busy.
  private var failure: (error: DeviceKeyError, until: Int)?
  private static let retryTime = 2000

  /// Opens the state, and finishes interrupted work.
  ///
  /// - Parameters:
  ///   - seals: how the device secret may be kept, the best first.
  ///   - hasAccount: whether a user may have keys here; nil if that is not known yet. Without this check, a user with many user
  ///     numbers, for example for containers, could fill the disk.
  ///   - log: gets the lines for the administrator.
  public init(
    path: String, seals: [any DeviceSeal], hasAccount: @escaping (uid_t) -> Bool?, log: @escaping (String) -> Void
  ) throws(PosixError) {
    folder = try Folder(path: path, owner: geteuid())
    // The folder may have had another mode, but only the service may read these files.
    guard fchmod(folder.number, 0o700) == 0 else { throw PosixError("chmod") }
    lock = try folder.lock("lock", deadline: 2000)
    users = try Folder.create([StateFile.users], below: path, owner: geteuid())
    self.seals = seals
    self.hasAccount = hasAccount
    self.log = log
    try DeviceStore.finishErasing(folder)
    try DeviceStore.finishErasing(users)
  }

  private static func finishErasing(_ folder: borrowing Folder) throws(PosixError) {
    for name in try folder.names() {
      if name.hasSuffix(".new") { try folder.erase(name) }
      if name.hasSuffix(".erased") { try folder.finishErasing(String(name.dropLast(7))) }
    }
  }

  // MARK: - the device secret

  private func withSecret<Result: ~Copyable>(
    _ body: (borrowing Key, any DeviceSeal) throws(DeviceKeyError) -> Result
  ) throws(DeviceKeyError) -> Result {
    if secret == nil {
      if let failure, Process.now < failure.until { throw failure.error }
      do throws(DeviceKeyError) {
        secret = try loaded()
        failure = nil
      } catch {
        if failure?.error != error, case .unavailable(let reason) = error { log(reason.text) }
        failure = (error, Process.now + DeviceStore.retryTime)
        throw error
      }
    }
    // The value cannot be copied, so this takes it out during the call.
    guard let held = secret.take() else { throw .unavailable(.device(.noMemory)) }
    let seal = held.seal
    do throws(DeviceKeyError) {
      let result = try body(held.key, seal)
      secret = consume held
      return result
    } catch {
      secret = consume held
      throw error
    }
  }

  private func loaded() throws(DeviceKeyError) -> Secret {
    guard let content = try StateFile.device.read(folder) else { return try made() }
    guard content.count > 1 else { throw StateFile.device.damaged }
    let code = content.bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
    guard let backend = DeviceStore.backend(code) else { throw StateFile.device.damaged }
    let seal = try seal(backend)
    return Secret(key: try seal.open(content.bytes.extracting(droppingFirst: 1)), seal: seal)
  }

  private func seal(_ backend: DeviceKeyBackend) throws(DeviceKeyError) -> any DeviceSeal {
    guard let seal = seals.first(where: { $0.backend == backend }) else {
      throw .unavailable(
        backend == .tpm ? .device(.noTPM) : .device(.cannotKeep))
    }
    return seal
  }

  /// The first use on this machine: a new secret, in the best place that works.
  private func made() throws(DeviceKeyError) -> Secret {
    let known: [String]
    do { known = try users.names() } catch { throw .unavailable(.of(.serviceState, .verbatim("\(error)"))) }
    guard known.isEmpty else {
      throw .unavailable(.device(.stateMissing))
    }
    let key: Key
    do { key = try Key.random() } catch { throw .unavailable(.device(.noMemory)) }
    var reason = DeviceKeyError.unavailable(.device(.noPlace))
    for seal in seals {
      do throws(DeviceKeyError) {
        try write(key, seal, replacing: false)
        log("the device secret was made; it is kept by: \(seal.backend.rawValue)")
        return Secret(key: key, seal: seal)
      } catch {
        reason = error
        if case .unavailable(let reason) = error { log(reason.text) }
      }
    }
    throw reason
  }

  private func write(
    _ key: borrowing Key, _ seal: any DeviceSeal, replacing: Bool
  ) throws(DeviceKeyError) {
    let content = try DeviceStore.sealed(key, seal)
    if replacing {
      do throws(PosixError) { try folder.keepForErasing(StateFile.device.name) } catch {
        throw .unavailable(.of(.serviceState, .verbatim("\(error)")))
      }
    }
    try StateFile.device.write(content.bytes, in: folder, replacing: replacing)
  }

  /// The content of the file for a seal.
  private static func sealed(_ key: borrowing Key, _ seal: any DeviceSeal) throws(DeviceKeyError) -> SecureBytes {
    let sealed = try seal.seal(key)
    let again = try seal.open(sealed.bytes)
    // No key may depend on a secret that cannot be read back.
    guard Sodium.equal(again.bytes, key.bytes) else {
      throw .unavailable(.device(.readBackOther))
    }
    do throws(SodiumError) {
      var content = try SecureBytes(count: 1 + sealed.count)
      content.write([code(seal.backend)].span.bytes, at: 0)
      content.write(sealed.bytes, at: 1)
      return content
    } catch { throw .unavailable(.device(.noMemory)) }
  }

  /// Moves the secret to another place. The secret and every user's keys stay the same.
  public func move(to backend: DeviceKeyBackend) throws(DeviceKeyError) {
    let target = try seal(backend)
    let moved = try withSecret { key, present throws(DeviceKeyError) in
      guard present.backend != backend else { return false }
      try write(key, target, replacing: true)
      return true
    }
    guard moved else { return }
    secret = nil
    do throws(PosixError) { try folder.finishErasing(StateFile.device.name) } catch {
      throw .unavailable(.because(.device(.formerCopyStays), .verbatim("\(error)")))
    }
    log("the device secret was moved; it is kept by: \(backend.rawValue)")
  }

  private static func code(_ backend: DeviceKeyBackend) -> UInt8 { backend == .tpm ? 2 : 1 }
  private static func backend(_ code: UInt8) -> DeviceKeyBackend? { [1: .host, 2: .tpm][code] }

  // MARK: - users

  /// Whether a user has keys here.
  public func hasKeys(of user: uid_t) -> Bool { users.contains(StateFile.salt(user).name) }

  /// A file's 32 bytes, behind the user's number.
  private func read(_ file: StateFile, of user: uid_t) throws(DeviceKeyError) -> Key? {
    guard let content = try file.read(users) else { return nil }
    guard content.count == 4 + Key.size,
      UInt32(littleEndian: content.bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self)) == user
    else { throw file.damaged }
    do { return try Key(copying: content.bytes.extracting(droppingFirst: 4)) } catch {
      throw .unavailable(.device(.noMemory))
    }
  }

  private func make(_ file: StateFile, of user: uid_t) throws(DeviceKeyError) -> Key {
    guard let hasAccount = hasAccount(user) else {
      throw .unavailable(.slowLookup(user: user))
    }
    guard hasAccount else { throw .unavailable(.noAccount(user: user)) }
    var head = ByteWriter()
    head.number(user)
    var content: SecureBytes
    do throws(SodiumError) { content = try SecureBytes.random(count: 4 + Key.size) } catch {
      throw .unavailable(.device(.noMemory))
    }
    content.write(head.bytes.span.bytes, at: 0)
    try file.write(content.bytes, in: users, replacing: false)
    do throws(SodiumError) { return try Key(copying: content.bytes.extracting(droppingFirst: 4)) } catch {
      throw .unavailable(.device(.noMemory))
    }
  }

  /// The device key of a user.
  private func userKey(_ user: uid_t, _ salt: borrowing Key) throws(DeviceKeyError) -> Key {
    try withSecret { secret, _ throws(DeviceKeyError) in
      var number = ByteWriter()
      number.number(user)
      do throws(SodiumError) {
        var hash = try KeyedHash(key: secret)
        hash.update(KeyLabel.deviceUser.text)
        hash.update(number.bytes.span.bytes)
        hash.update(salt)
        return try hash.key()
      } catch { throw .unavailable(.device(.noMemory)) }
    }
  }

  private func madeUserKey(_ user: uid_t) throws(DeviceKeyError) -> Key {
    // This first needs the machine's secret. Without it, no salt is made.
    try withSecret { _, _ in }
    let file = StateFile.salt(user)
    guard let salt = try read(file, of: user) else { return try userKey(user, try make(file, of: user)) }
    return try userKey(user, salt)
  }

  /// The key that wraps shares of a kind; nil if the erasable secret was erased.
  private func wrapKey(
    _ user: borrowing Key, _ kind: DeviceShareKind, of number: uid_t, mayCreate: Bool
  ) throws(DeviceKeyError) -> Key? {
    let file = StateFile.erasable(number)
    var hash: KeyedHash
    do throws(SodiumError) { hash = try KeyedHash(key: user) } catch { throw .unavailable(.device(.noMemory)) }
    hash.update(KeyLabel.deviceWrap.text)
    hash.update([kind.rawValue].span.bytes)
    if kind == .erasable {
      if let erasable = try read(file, of: number) {
        hash.update(erasable)
      } else {
        guard mayCreate else { return nil }
        hash.update(try make(file, of: number))
      }
    }
    do throws(SodiumError) { return try hash.key() } catch { throw .unavailable(.device(.noMemory)) }
  }

  /// The name of this device for a user, and where its secret is kept.
  public func identity(of user: uid_t) throws(DeviceKeyError) -> ([UInt8], DeviceKeyBackend) {
    let key = try madeUserKey(user)
    let backend = try withSecret { _, seal in seal.backend }
    do { return (try key.tag(.deviceIdentity, length: 16), backend) } catch { throw .unavailable(.device(.noMemory)) }
  }

  /// Wraps a share for a user.
  public func wrap(
    _ share: borrowing Key, _ kind: DeviceShareKind, context: [UInt8], of user: uid_t
  ) throws(DeviceKeyError) -> [UInt8] {
    let key = try madeUserKey(user)
    guard let wrap = try wrapKey(key, kind, of: user, mayCreate: true) else { throw .otherDevice }
    return AEAD.seal(share.bytes, key: wrap, associated: context)
  }

  /// Unwraps a share of a user.
  ///
  /// - Throws: ``DeviceKeyError/otherDevice`` for a value that this device did not wrap for that user, or can no longer
  ///   unwrap.
  public func unwrap(
    _ wrapped: [UInt8], _ kind: DeviceShareKind, context: [UInt8], of user: uid_t
  ) throws(DeviceKeyError) -> Key {
    try withSecret { _, _ in }
    guard let salt = try read(StateFile.salt(user), of: user) else { throw .otherDevice }
    let key = try userKey(user, salt)
    guard let wrap = try wrapKey(key, kind, of: user, mayCreate: false) else { throw .otherDevice }
    do { return try Key(try AEAD.open(wrapped.span.bytes, key: wrap, associated: context)) } catch {
      throw error == .outOfMemory ? .unavailable(.device(.noMemory)) : .otherDevice
    }
  }

  /// Erases a user's erasable secret for good. Everything that depends on this secret is lost. The next share that is
  /// wrapped under an erasable secret makes a new one.
  ///
  /// - Returns: whether the user had an erasable secret.
  public func eraseErasable(of user: uid_t) throws(DeviceKeyError) -> Bool {
    let file = StateFile.erasable(user)
    let hasFile = users.contains(file.name)
    // This runs even if the file is missing, because an interrupted erasure may have left a part of it.
    try erase(file)
    return hasFile
  }

  /// Erases everything that the service keeps of a user. For all vaults of that user this is another device from now on.
  ///
  /// - Returns: whether the service kept anything of the user.
  public func forget(_ user: uid_t) throws(DeviceKeyError) -> Bool {
    // The salt is removed last. Without the salt, the store never reads the user's other files again.
    let files = [StateFile.erasable(user), StateFile.vaults(user), StateFile.salt(user)]
    let hasAny = files.contains { users.contains($0.name) }
    for file in files { try erase(file) }
    return hasAny
  }

  /// Remembers the generations of a user's vault, on the disk when this returns.
  ///
  /// - Parameter isBeginning: whether that replaces the remembered generations; otherwise the greater number of each stays.
  /// - Returns: the generations that were remembered before; nil for an unknown vault.
  /// - Throws: ``DeviceKeyError/otherDevice`` for a user who has no keys here, for example after ``forget(_:)``.
  public func note(
    _ generations: VaultGenerations, ofVault vault: [UInt8], isBeginning: Bool, of user: uid_t
  ) throws(DeviceKeyError) -> VaultGenerations? {
    guard hasKeys(of: user) else { throw .otherDevice }
    let file = StateFile.vaults(user)
    var known = KnownVaults()
    if let content = try file.read(users) {
      guard let read = KnownVaults(content.bytes, of: user) else { throw file.damaged }
      known = read
    }
    let before = known[vault]
    if known.note(generations, of: vault, isBeginning: isBeginning) {
      try file.write(known.encoded(of: user).span.bytes, in: users, replacing: true)
    }
    return before
  }

  private func erase(_ file: StateFile) throws(DeviceKeyError) {
    do { try users.erase(file.name) } catch {
      throw .unavailable(.stateNotErased(file: file.name, .verbatim("\(error)")))
    }
  }
}
