import Glibc
import LatchkeyPosix

/// The files of one user's vault that hold keys: where they are, and the rules by which they are created and replaced.
public enum KeybagFile {
  /// The keybag's name in the vault's folder.
  public static let name = "keybag"
  /// The database's name in the vault's folder.
  public static let database = "vault.db"
  private static let lockName = "keybag.lock"
  /// How long a second process waits for the first, in milliseconds.
  public static let lockDeadline = 1000

  /// The free space in bytes that a disk needs. With less, a login creates no vault, and a vault can store little more.
  public static let leastRoom = 4 << 20

  /// Whether the disk of the home folder has less free space; false if the folder cannot be opened.
  public static func lacksRoom(home: String, owner: uid_t) -> Bool {
    guard let folder = try? Folder(path: home, owner: owner) else { return false }
    return folder.freeSpace < leastRoom
  }

  /// The folder of a vault below a home folder. `XDG_DATA_HOME` is ignored: module, helper and daemon must agree, and two of these
  /// cannot trust their environment.
  public static let folderNames = [".local", "share", "latchkey"]

  /// The path of the vault's folder.
  public static func folderPath(home: String) -> String {
    ([home] + folderNames).joined(separator: "/")
  }

  /// The home folder of a vault's folder, the reverse of ``folderPath(home:)``; nil for any other path.
  public static func home(ofFolder path: String) -> String? {
    let suffix = folderPath(home: "")
    return path.hasSuffix(suffix) ? String(path.dropLast(suffix.count)) : nil
  }

  /// The path of the folder that contains the vault's folder, and the folders that were put aside.
  public static func sharePath(home: String) -> String {
    ([home] + folderNames.dropLast()).joined(separator: "/")
  }

  /// The prefix of a vault's folder after it was put aside.
  public static let asidePrefix = folderNames[folderNames.count - 1] + "-aside-"

  /// Opens the folder of a vault that should exist.
  ///
  /// - Throws: ``KeybagError/missing`` if the folder does not exist.
  public static func folder(home: String, owner: uid_t) throws(KeybagError) -> Folder {
    do { return try Folder(path: folderPath(home: home), owner: owner) } catch {
      throw error.code == ENOENT ? .missing : .file(error)
    }
  }

  /// Takes the lock for writing a file with the vault's keys.
  public static func lock(
    _ folder: borrowing Folder, deadline: Int = lockDeadline
  ) throws(PosixError) -> FileDescriptor {
    try folder.lock(lockName, deadline: deadline)
  }

  /// Reads the keybag.
  public static func load(from folder: borrowing Folder) throws(KeybagError) -> Keybag {
    try load(name, from: folder)
  }

  static func load(_ name: String, from folder: borrowing Folder) throws(KeybagError) -> Keybag {
    let bytes: [UInt8]
    do { bytes = try folder.read(name, limit: Keybag.sizeLimit) } catch {
      switch error.code {
      case ENOENT: throw .missing
      case EFBIG: throw .truncated
      default: throw .file(error)
      }
    }
    return try Keybag(decoding: bytes)
  }

  /// Creates a vault: writes the keybag of a user who has neither keybag nor database.
  ///
  /// Two logins at once create one vault: the second login finds the vault of the first.
  ///
  /// - Parameter make: makes the keybag; called only when it will be written.
  /// - Throws: ``KeybagError/alreadyThere``; ``KeybagError/file(_:)`` if nothing could be written. In both cases, no new file
  ///   stays.
  public static func create(
    home: String, owner: uid_t, _ make: () throws(KeybagError) -> Keybag.Opened
  ) throws(KeybagError) -> Keybag.Opened {
    let folder = try makeFolder(home: home, owner: owner)
    let lock = try KeybagError.file { () throws(PosixError) in try KeybagFile.lock(folder) }
    defer { extendLifetime(lock) }
    guard !folder.contains(name), !folder.contains(database), !isMissing(butCopiedIn: folder) else {
      throw .alreadyThere
    }
    let opened = try make()
    do throws(PosixError) {
      try removeCopy(folder)
      try folder.write(name, opened.keybag.encoded.span.bytes, replacing: false)
    } catch { throw error.code == EEXIST ? .alreadyThere : .file(error) }
    makeCopy(of: opened.keybag, folder)
    return opened
  }

  /// Opens the folder of a vault, and makes it if it is missing.
  public static func makeFolder(home: String, owner: uid_t) throws(KeybagError) -> Folder {
    try KeybagError.file { () throws(PosixError) in try Folder.create(folderNames, below: home, owner: owner) }
  }

  /// Renames the vault's folder within its parent folder. Its content stays the same.
  ///
  /// - Throws: ``KeybagError/missing``; ``KeybagError/alreadyThere`` if something has that name.
  public static func setAside(home: String, owner: uid_t, as name: String) throws(KeybagError) {
    let folder = try folder(home: home, owner: owner)
    // The lock lets a process that writes a keybag finish. If the lock cannot be made, for example on a full disk, the work goes on
    // without it.
    var held: FileDescriptor?
    do { held = try lock(folder) } catch { guard error.code != EWOULDBLOCK else { throw .file(error) } }
    defer { extendLifetime(held) }
    do throws(PosixError) {
      try Folder(path: sharePath(home: home), owner: owner).rename(folderNames[folderNames.count - 1], to: name)
    } catch { throw error.code == EEXIST ? .alreadyThere : .file(error) }
  }

  /// Whether there is no database, and no former state of a database.
  public static func awaitsDatabase(in folder: borrowing Folder) -> Bool {
    !folder.contains(database) && !hasGenerations(folder)
  }

  /// Replaces the keybag `base` by `next`, which was made from it.
  ///
  /// - Throws: ``KeybagError/overtaken`` if another process was faster: it wrote another keybag, or made the database that
  ///   `next` does not know of. Nothing is overwritten then.
  public static func replace(
    _ base: Keybag, with next: Keybag, in folder: borrowing Folder
  ) throws(KeybagError) {
    let lock = try KeybagError.file { () throws(PosixError) in try KeybagFile.lock(folder) }
    defer { extendLifetime(lock) }
    let present = try load(from: folder)
    guard present == base, next.vault == base.vault,
      next.awaitsDatabase ? awaitsDatabase(in: folder) : next.generation == base.generation + 1
    else { throw .overtaken }
    try KeybagError.file { () throws(PosixError) in
      try removeCopy(folder)
      eraseDamaged(folder, unless: next, hasAllOf: present)
      try folder.write(name, next.encoded.span.bytes, replacing: true)
    }
    makeCopy(of: next, folder)
  }
}
