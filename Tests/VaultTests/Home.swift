import Glibc
import LatchkeyPosix
import LatchkeySodium

@testable import LatchkeyKeybag
@testable import LatchkeyVault

/// Homes that exist until a test ends. A vault whose folder is gone stores nothing.
final class KeptHomes {
  var homes: [Home] = []
}

/// The home folder of one test, with a keybag of the least cost. It is removed when the value ends.
final class Home: @unchecked Sendable {
  static let password = Array("correct horse battery staple".utf8)
  static let machine = [UInt8](repeating: 7, count: 16)
  static let otherMachine = [UInt8](repeating: 8, count: 16)

  let path: String
  let tiers: TierKeys
  let keybag: Keybag

  /// The folder is in memory if the machine allows it, because these tests are not about the speed of the disk.
  static let place = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp"

  init(below place: String = Home.place) throws {
    try Sodium.initialize()
    path = Home.newFolder(below: place)
    let opened = try Home.newKeybag()
    tiers = try opened.tiers()
    keybag = opened.keybag
    let folder = try Folder.create(KeybagFile.folderNames, below: path, owner: getuid())
    try folder.write(KeybagFile.name, keybag.encoded.span.bytes, replacing: false)
  }

  /// A second home with a copy of the vault's files.
  init(copying other: Home) throws {
    path = Home.newFolder(below: Home.place)
    tiers = TierKeys(unlocked: try other.tiers.unlocked.duplicate(), session: try other.tiers.session.duplicate())
    keybag = other.keybag
    _ = try Folder.create(KeybagFile.folderNames, below: path, owner: getuid())
    for name in other.names where name != History.folderName { write(name, other.read(name)) }
    guard other.names.contains(History.folderName) else { return }
    mkdir(generations, 0o700)
    for name in namesInFolder(other.generations) {
      writeFile(generations + "/" + name, readFile(other.generations + "/" + name) ?? [])
    }
  }

  deinit { removeTree(path) }

  private static func newFolder(below place: String) -> String {
    var template = Array((place + "/latchkey-vault-XXXXXX").utf8CString)
    let made = template.withUnsafeMutableBufferPointer { buffer in
      buffer.baseAddress.flatMap { mkdtemp($0) }.map { String(cString: $0) }
    }
    guard let made else { fatalError("no folder for tests below \(place)") }
    return made
  }

  /// The vault's folder.
  var folder: String { KeybagFile.folderPath(home: path) }

  /// The folder of the home's generations.
  var generations: String { folder + "/" + History.folderName }

  /// The vault of these files, as a newly started daemon has it.
  func vault(on machine: [UInt8]? = Home.machine) -> Vault {
    Vault(home: path, owner: getuid(), machine: machine)
  }

  /// The vault of these files, unlocked as after a login.
  func unlocked(on machine: [UInt8]? = Home.machine) throws -> Vault {
    let vault = vault(on: machine)
    try unlock(vault)
    return vault
  }

  func unlock(_ vault: Vault, opening: Vault.Opening = .everything, liftingLocks: Bool = true) throws {
    try vault.unlock(tiers, opening: opening, liftingLocks: liftingLocks, mayCreate: false)
  }

  // MARK: - keybags

  /// The least cost that a keybag accepts.
  static let cost = PasswordCost(passes: 3, memory: 32 << 20)
  private static let salt = [UInt8](repeating: 9, count: PasswordHash.saltSize)
  /// The key that Argon2id derives from the password. It is derived once, because that takes longer than most of these tests.
  private static let derived = Result {
    plain(try PasswordHash.derive(password: password.span.bytes, salt: salt, passes: cost.passes, memory: cost.memory))
  }

  /// A keybag of a new vault with new keys. The password opens the keybag.
  static func newKeybag() throws -> Keybag.Opened {
    let vault = Sodium.randomBytes(16)
    let root = try Key.random()
    let derived = try derived.get()
    let protector = try Protector.make(
      derived: try Key(copying: derived.span.bytes), salt: salt, root: root, vault: vault, state: .unproven, cost: cost)
    return try Keybag.create(vault: vault, root: root, protector)
  }

  /// Opens a keybag with the password.
  static func open(_ keybag: Keybag) throws -> Keybag.Opened {
    let password = Home.password
    return try keybag.open(password: password.span.bytes)
  }

  // MARK: - files

  /// The names in the vault's folder, sorted.
  var names: [String] { namesInFolder(folder) }

  func read(_ name: String) -> [UInt8] {
    readFile(folder + "/" + name) ?? []
  }

  func write(_ name: String, _ bytes: [UInt8]) { writeFile(folder + "/" + name, bytes) }

  func remove(_ name: String) { unlink(folder + "/" + name) }

  /// Every file with its content, to compare before and after.
  var contents: [String: [UInt8]] {
    Dictionary(uniqueKeysWithValues: names.map { ($0, read($0)) })
  }
}

func namesInFolder(_ path: String) -> [String] {
  guard let stream = opendir(path) else { return [] }
  defer { closedir(stream) }
  var names: [String] = []
  while let entry = readdir(stream) {
    let name = withUnsafePointer(to: &entry.pointee.d_name) {
      $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
    }
    if name != "." && name != ".." { names.append(name) }
  }
  return names.sorted()
}

/// The files of a folder with their content.
func contentsOfFolder(_ path: String) -> [String: [UInt8]] {
  var files: [String: [UInt8]] = [:]
  for name in namesInFolder(path) { files[name] = readFile(path + "/" + name) }
  return files
}

func removeTree(_ path: String) {
  for name in namesInFolder(path) { removeTree(path + "/" + name) }
  if rmdir(path) != 0 { unlink(path) }
}

/// The bytes of a file; nil if it does not exist.
func readFile(_ path: String) -> [UInt8]? {
  guard let file = try? FileDescriptor.open(path, flags: O_RDONLY), let status = try? file.status() else { return nil }
  return try? file.readAll(limit: Int(status.st_size) + 4096)
}

func writeFile(_ path: String, _ bytes: [UInt8]) {
  do {
    let file = try FileDescriptor.open(path, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o600)
    try file.writeAll(bytes.span.bytes)
  } catch {
    fatalError("cannot write \(path): \(error)")
  }
}

/// Whether `needle` is anywhere in `bytes`.
func contains(_ bytes: [UInt8], _ needle: [UInt8]) -> Bool {
  bytes.withUnsafeBytes { hay in
    needle.withUnsafeBytes { wanted in
      guard let start = hay.baseAddress, let pattern = wanted.baseAddress, let first = wanted.first else {
        return false
      }
      var position = 0
      while hay.count - position >= wanted.count {
        guard let next = memchr(start + position, Int32(first), hay.count - position) else { return false }
        position = UnsafeRawPointer(next) - start
        guard hay.count - position >= wanted.count else { return false }
        if memcmp(start + position, pattern, wanted.count) == 0 { return true }
        position += 1
      }
      return false
    }
  }
}

/// The plain bytes of a secret. Only a test may have them.
func plain(_ secret: borrowing SecureBytes) -> [UInt8] { secret.bytes.withUnsafeBytes { Array($0) } }
func plain(_ key: borrowing Key) -> [UInt8] { key.bytes.withUnsafeBytes { Array($0) } }

func secure(_ bytes: [UInt8]) throws -> SecureBytes { try SecureBytes(copying: bytes.span.bytes) }

extension Vault {
  /// Stores an item whose secret the test knows.
  @discardableResult
  func add(
    _ attributes: [String: String], _ secret: String, _ accessibility: AccessibilityClass? = nil,
    label: String = "item", in collection: Int64 = 1, replacing: Bool = false
  ) throws -> Int64 {
    try add(
      attributes, Array(secret.utf8), accessibility, label: label, in: collection, replacing: replacing
    ).id
  }

  func add(
    _ attributes: [String: String], _ secret: [UInt8], _ accessibility: AccessibilityClass? = nil,
    label: String = "item", in collection: Int64 = 1, replacing: Bool = false
  ) throws -> (id: Int64, isNew: Bool) {
    let stored = try writer.createItem(
      in: collection, ItemMetadata(label: label, attributes: attributes, contentType: "text/plain"),
      secret: try secure(secret), accessibility: accessibility, replacing: replacing)
    return (stored.id, stored.isNew)
  }

  func set(_ id: Int64, _ secret: String) throws {
    try writer.setSecret(ofItem: id, try secure(Array(secret.utf8)), contentType: "text/plain")
  }

  /// A secret as plain bytes. Only a test may have them.
  func secretBytes(_ id: Int64) throws -> [UInt8] {
    let opened = try reader.secret(ofItem: id)
    return plain(opened.secret)
  }

  func secretText(_ id: Int64) throws -> String { String(decoding: try secretBytes(id), as: UTF8.self) }

  /// The numbers of the items that a search finds, smallest first.
  func ids(_ attributes: [String: String], in collection: Int64? = nil) throws -> [Int64] {
    try reader.search(.attributes(attributes), in: collection).map(\.id).sorted()
  }

  /// Brings the log into the database and empties it.
  func settleWhole() {
    verifyToEnd()
    settle()
  }

  /// Runs the walk through the whole database to its end.
  func verifyToEnd() { while verifyStep() {} }
}

extension ItemWriter {
  /// Stores an item, with all its values in one line.
  @discardableResult
  func createItem(
    in collection: Int64, _ metadata: ItemMetadata, secret: borrowing SecureBytes, accessibility: AccessibilityClass?,
    defaultClass: AccessibilityClass = .whenUnlocked, replacing: Bool, passphrase: consuming NewItemPassphrase? = nil,
    times: ItemTimes = ItemTimes(), granted: @escaping (Int64) -> AccessGrant? = { _ in nil }
  ) throws(VaultError) -> StoredItem {
    var new = NewItem(metadata, in: collection, accessibility: accessibility)
    (new.defaultClass, new.replaces, new.times, new.granted) = (defaultClass, replacing, times, granted)
    new.passphrase = passphrase.take()
    return try createItem(new, secret: secret)
  }
}
