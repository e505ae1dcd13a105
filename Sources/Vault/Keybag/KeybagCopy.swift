import Glibc
import LatchkeyPosix
import LatchkeyReasons

/// The copy of the keybag, which takes its place where it is damaged or missing.
///
/// The copy has the bytes of the newest keybag, or is missing: it is deleted before another keybag is written, and made again
/// after that. So no password, code or key that ended comes back by it. After a power cut, one of the two is whole.
extension KeybagFile {
  /// The copy's name in the vault's folder.
  public static let copyName = "keybag.copy"
  /// The name of the folder with former states of the database.
  public static let generations = "generations"
  /// The prefix of a damaged keybag's name after it was put aside. The rest is the time.
  public static let damagedPrefix = name + ".damaged-"
  /// The same of another vault's keybag, which may be the only one of that vault.
  public static let foreignPrefix = name + ".other-"
  /// How many keybags are put aside at most. A disk that reads badly would fill the folder otherwise.
  static let asideLimit = 8

  /// Reads the copy.
  public static func copy(in folder: borrowing Folder) throws(KeybagError) -> Keybag {
    try load(copyName, from: folder)
  }

  /// Takes the copy away, before the keybag becomes another one.
  static func removeCopy(_ folder: borrowing Folder) throws(PosixError) {
    try folder.remove([copyName, copyName + ".new"])
  }

  /// Makes the copy of a keybag that was written just now. Where that fails, as on a full disk, the next login makes it.
  static func makeCopy(of keybag: Keybag, _ folder: borrowing Folder) {
    try? folder.write(copyName, keybag.encoded.span.bytes, replacing: true)
  }

  /// Makes the copy of a keybag that was opened, unless the same copy exists.
  ///
  /// A copy of a later generation, or of the same one with other bytes, stays until the keybag is written again. Somebody put an
  /// older keybag in the place of the newest, of which the copy is left.
  ///
  /// - Parameter deadline: how long another process that writes is waited for, in milliseconds.
  public static func keepCopy(of keybag: Keybag, in folder: borrowing Folder, deadline: Int = lockDeadline) {
    let former = try? copy(in: folder)
    guard former != keybag, let lock = try? lock(folder, deadline: deadline) else { return }
    defer { extendLifetime(lock) }
    guard (try? load(from: folder)) == keybag else { return }
    if let former, former.vault == keybag.vault, former.generation >= keybag.generation { return }
    makeCopy(of: keybag, folder)
  }

  /// Whether the keybag is missing, and its copy can take its place: it is whole, and there is a database, or a former state of one.
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

  /// Puts the copy in the place of a keybag that is damaged or missing. The former file stays, under another name.
  ///
  /// Whenever this is interrupted, the copy is whole and the next call does the rest. It proves nothing: a copy is believed as a
  /// keybag is, by its tag, and is an older one by its generation.
  ///
  /// - Parameters:
  ///   - deadline: how long another process that writes is waited for, in milliseconds.
  ///   - isForeign: whether a keybag that can be read is not of this folder's database, and the other one is.
  /// - Returns: the healing; nil if nothing was done.
  public static func heal(
    in folder: borrowing Folder, deadline: Int = lockDeadline,
    isForeign: (_ keybag: Keybag, _ copy: Keybag) -> Bool = { _, _ in false }
  ) -> KeybagHealing? {
    guard (try? copy(in: folder)) != nil, let lock = try? lock(folder, deadline: deadline) else { return nil }
    defer { extendLifetime(lock) }
    // Another process may have written both meanwhile.
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
      // A full disk has no room for another one, but has this one.
      guard (try? folder.rename(copyName, to: name)) != nil else { return nil }
    }
    return KeybagHealing(loss: loss, aside: aside)
  }

  /// Gives the keybag that is in the way another name.
  private static func setAside(_ folder: borrowing Folder, _ prefix: String) -> String? {
    guard let names = try? folder.names(), names.count(where: { $0.hasPrefix(prefix) }) < asideLimit else { return nil }
    let stamp = prefix + Process.stamp
    for free in [stamp] + (2...10).map({ "\(stamp)-\($0)" }) {
      do throws(PosixError) {
        try folder.rename(name, to: free)
        return free
      } catch {
        // One more within the same second.
        guard error.code == EEXIST else { return nil }
      }
    }
    return nil
  }

  /// Whether an error is the file's own fault, not its reader's or the moment's.
  private static func isDamage(_ error: KeybagError, _ folder: borrowing Folder) -> Bool {
    switch error {
    case .missing: isMissing(butCopiedIn: folder)
    case .truncated, .foreign, .damaged, .unreasonable: true
    case .file(let error) where error.code == EIO: true
    case .file: folder.contains(name) && !folder.hasOwnFile(name)
    case .alreadyThere, .overtaken, .newerFormat, .wrongPassword, .tooManyEpochs, .noMemory: false
    }
  }

  /// Erases the damaged keybags that were put aside, before a password, a code or a key ends that one of them may have.
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

/// The healing of a keybag that was damaged, missing or another vault's. Its copy is in its place.
public struct KeybagHealing: Equatable, Sendable {
  /// The damage, for a person.
  public let loss: Reason
  /// The name of the former file now, in the vault's folder; nil where there was none.
  public let aside: String?

  /// The damage and the healing, in one line.
  public var reason: Reason {
    let healed = Reason.of(.keybag, .copyTookPlace(loss))
    return aside.map { .both(healed, .itIs(now: $0)) } ?? healed
  }

  /// The same in English, for the log.
  public var explanation: String { reason.text }
}
