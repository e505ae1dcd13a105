import Glibc
import LatchkeyPosix
import LatchkeyReasons

/// The copy of the keybag, which replaces a damaged or missing keybag.
///
/// The copy has the bytes of the newest keybag, or is missing. Before a new keybag is written, the copy is deleted, and afterwards
/// it is made again. So the copy never brings back a password, code or key that has ended. After a power cut, the keybag or its
/// copy is whole.
extension KeybagFile {
  /// The copy's name in the vault's folder.
  public static let copyName = "keybag.copy"
  /// The name of the folder with former states of the database.
  public static let generations = "generations"
  /// The prefix of a damaged keybag's name after it was put aside. The rest is the time.
  public static let damagedPrefix = name + ".damaged-"
  /// The prefix for another vault's keybag, which may be the only one of that vault.
  public static let foreignPrefix = name + ".other-"
  /// The most keybags that are put aside. Without a limit, a disk with read errors would fill the folder.
  static let asideLimit = 8

  /// Reads the copy.
  public static func copy(in folder: borrowing Folder) throws(KeybagError) -> Keybag {
    try load(copyName, from: folder)
  }

  /// Removes the copy, before the keybag changes.
  static func removeCopy(_ folder: borrowing Folder) throws(PosixError) {
    try folder.remove([copyName, copyName + ".new"])
  }

  /// Makes the copy of a keybag that was just written. If this fails, for example on a full disk, the next login makes the copy.
  static func makeCopy(of keybag: Keybag, _ folder: borrowing Folder) {
    try? folder.write(copyName, keybag.encoded.span.bytes, replacing: true)
  }

  /// Makes the copy of a keybag that was opened, unless the same copy exists.
  ///
  /// If the copy has a later generation, or the same generation with other bytes, it stays until the keybag is written again. In
  /// this case somebody has replaced the newest keybag by an older one, and only the copy has the newest.
  ///
  /// - Parameter deadline: how long to wait for another process that writes, in milliseconds.
  public static func keepCopy(of keybag: Keybag, in folder: borrowing Folder, deadline: Int = lockDeadline) {
    let former = try? copy(in: folder)
    guard former != keybag, let lock = try? lock(folder, deadline: deadline) else { return }
    defer { extendLifetime(lock) }
    guard (try? load(from: folder)) == keybag else { return }
    if let former, former.vault == keybag.vault, former.generation >= keybag.generation { return }
    makeCopy(of: keybag, folder)
  }

  /// Whether the keybag is missing and its copy can replace it: the copy is whole, and there is a database or a former state of it.
  public static func isMissing(butCopiedIn folder: borrowing Folder) -> Bool {
    guard !folder.contains(name), (try? copy(in: folder)) != nil else { return false }
    return !awaitsDatabase(in: folder)
  }

  static func hasGenerations(_ folder: borrowing Folder) -> Bool {
    let number = folder.number
    guard
      let generations = try? FileDescriptor.open(generations, at: number, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
      let names = try? generations.names()
    else { return false }
    return names.contains { $0.hasSuffix(".db") }
  }

  /// Replaces a damaged or missing keybag by the copy. The former file stays, under another name.
  ///
  /// After an interruption the copy is still whole, and the next call does the rest. The copy's tag proves it, as for any keybag,
  /// and its generation shows whether the copy is older than the keybag.
  ///
  /// - Parameters:
  ///   - deadline: how long to wait for another process that writes, in milliseconds.
  ///   - isForeign: whether a readable keybag belongs to another vault than this folder's database, and the copy belongs to the
  ///     database's vault.
  /// - Returns: the healing; nil if nothing was done.
  public static func heal(
    in folder: borrowing Folder, deadline: Int = lockDeadline,
    isForeign: (_ keybag: Keybag, _ copy: Keybag) -> Bool = { _, _ in false }
  ) -> KeybagHealing? {
    guard (try? copy(in: folder)) != nil, let lock = try? lock(folder, deadline: deadline) else { return nil }
    defer { extendLifetime(lock) }
    // Another process may have written keybag and copy meanwhile.
    guard let copy = try? copy(in: folder) else { return nil }
    let loss: Reason
    var prefix = damagedPrefix
    do throws(KeybagError) {
      guard isForeign(try load(from: folder), copy) else { return nil }
      loss = .keybag(.otherVault)
      prefix = foreignPrefix
    } catch {
      guard isDamage(error, folder) else { return nil }
      loss = error.reason
    }
    var aside: String?
    if folder.contains(name) {
      guard let free = setAside(folder, prefix) else { return nil }
      aside = free
    }
    do throws(PosixError) { try folder.write(name, copy.encoded.span.bytes, replacing: false) } catch {
      // A full disk has no room for another copy, but this copy exists.
      guard (try? folder.rename(copyName, to: name)) != nil else { return nil }
    }
    return KeybagHealing(loss: loss, aside: aside)
  }

  /// Renames the present keybag, so that its name is free.
  private static func setAside(_ folder: borrowing Folder, _ prefix: String) -> String? {
    guard let names = try? folder.names(), names.count(where: { $0.hasPrefix(prefix) }) < asideLimit else { return nil }
    let stamp = prefix + Process.stamp
    for free in [stamp] + (2...10).map({ "\(stamp)-\($0)" }) {
      do throws(PosixError) {
        try folder.rename(name, to: free)
        return free
      } catch {
        // A number distinguishes keybags that are put aside within the same second.
        guard error.code == EEXIST else { return nil }
      }
    }
    return nil
  }

  /// Whether the file itself causes an error, and not its reader or a passing condition.
  private static func isDamage(_ error: KeybagError, _ folder: borrowing Folder) -> Bool {
    switch error {
    case .missing: isMissing(butCopiedIn: folder)
    case .truncated, .foreign, .damaged, .unreasonable: true
    case .file(let error) where error.code == EIO: true
    case .file: folder.contains(name) && !folder.hasOwnFile(name)
    case .alreadyThere, .overtaken, .newerFormat, .wrongPassword, .tooManyEpochs, .noMemory: false
    }
  }

  /// Erases the damaged keybags that were put aside. This is called before a password, code or key ends, because a damaged file may
  /// still have it.
  static func eraseDamaged(_ folder: borrowing Folder, unless next: Keybag, hasAllOf present: Keybag) {
    let protectors = Set(next.protectors.map(\.id))
    let epochs = Set(next.epochs.map(\.number))
    guard
      !present.protectors.allSatisfy({ protectors.contains($0.id) })
        || !present.epochs.allSatisfy({ epochs.contains($0.number) })
    else { return }
    for file in (try? folder.names()) ?? [] where file.hasPrefix(damagedPrefix) {
      folder.discard(file, first: Keybag.sizeLimit)
    }
  }
}

/// The healing of a keybag that was damaged, missing or another vault's. A copy has replaced that keybag.
public struct KeybagHealing: Equatable, Sendable {
  /// The damage, for a person.
  public let loss: Reason
  /// The present name of the former file in the vault's folder; nil if there was no file.
  public let aside: String?

  /// The damage and the healing, in one line.
  public var reason: Reason {
    let healed = Reason.of(.keybag, .copyTookPlace(loss))
    return aside.map { .both(healed, .itIs(now: $0)) } ?? healed
  }

  /// The healing in English, for the log.
  public var explanation: String { reason.text }
}
