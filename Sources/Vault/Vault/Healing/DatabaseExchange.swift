import Glibc
import LatchkeyKeybag
import LatchkeyPosix

/// How a healed database replaces `vault.db`, and how the damaged database is put aside. All of this works on files only. It needs
/// no key, and reads no row.
///
/// After an interruption, ``hasBegun(_:)`` says whether the exchange must be finished. The caller has the lock of the vault's
/// files.
struct DatabaseExchange {
  /// The prefix of a healed database's name before it replaces the damaged database. The rest is the time.
  private static let healedPrefix = KeybagFile.database + ".healed-"
  /// The prefix of a damaged database's name after it was put aside.
  static let damagedPrefix = KeybagFile.database + ".damaged-"

  /// The name of the healed database.
  let healed: String
  /// The name that the damaged database gets.
  let aside: String

  private init(_ healed: String, _ aside: String) { (self.healed, self.aside) = (healed, aside) }

  /// A new exchange.
  init(stamp: String) { self.init(Self.healedPrefix + stamp, Self.damagedPrefix + stamp) }

  /// Whether a file has the name of a healed database. Files with other names belong to a person, for example copies.
  static func isHealed(_ name: String) -> Bool {
    let time = name.dropFirst(healedPrefix.count)
    return name.hasPrefix(healedPrefix) && time.utf8.count == 15
      && time.utf8.allSatisfy { $0 == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
  }

  /// The exchanges of a healed database: one for each name that the damaged database may get.
  private static func all(_ healed: String) -> [DatabaseExchange] {
    let name = damagedPrefix + healed.dropFirst(healedPrefix.count)
    return ([name] + (2...9).map { "\(name)-\($0)" }).map { DatabaseExchange(healed, $0) }
  }

  /// The exchange that has begun; nil if no exchange has.
  static func begun(_ healed: String, _ folder: borrowing Folder) -> DatabaseExchange? {
    all(healed).last { $0.hasBegun(folder) }
  }

  /// The exchange to run: the first whose name, and whose log's name, no other file has.
  static func next(_ healed: String, _ folder: borrowing Folder) -> DatabaseExchange {
    let all = all(healed)
    return all.first { !$0.isTaken(folder) } ?? all[0]
  }

  /// Decides that a draft is the database from now on, even after an interruption.
  func publish(_ draft: String, _ folder: borrowing Folder) throws(PosixError) {
    try FileDescriptor.open(draft, at: folder.number, flags: O_RDWR | O_NOFOLLOW).synchronize()
    try folder.synchronize()
    try folder.rename(draft, to: healed)
  }

  /// Removes the healed database. Otherwise a later opening of the vault would treat it as newer than `vault.db`.
  func withdraw(_ folder: borrowing Folder) {
    folder.remove(healed)
    try? folder.synchronize()
  }

  private func isTaken(_ folder: borrowing Folder) -> Bool {
    ["", "-wal"].contains { suffix in
      let (own, kept) = (KeybagFile.database + suffix, aside + suffix)
      return folder.contains(own) && folder.contains(kept) && !folder.haveSameContent(own, kept)
    }
  }

  /// Whether the exchange has begun. `vault.db` may then lack its log, or be missing. In a copy of the folder, the two names of one
  /// file may have become two files. After a power cut, perhaps only the log was put aside.
  func hasBegun(_ folder: borrowing Folder) -> Bool {
    guard folder.contains(KeybagFile.database) else { return folder.hasOwnFile(aside) }
    return folder.contains(aside)
      ? folder.haveSameContent(KeybagFile.database, aside)
      : folder.hasOwnFile(aside + "-wal") && !folder.contains(KeybagFile.database + "-wal")
  }

  /// Replaces the damaged database by the healed one. Puts the damaged database aside.
  ///
  /// - Throws: if the exchange failed. The damaged database is then in its place, or ``hasBegun(_:)`` says that it is not.
  func run(_ folder: borrowing Folder) throws(PosixError) {
    guard !isTaken(folder) else { throw PosixError("link", code: EEXIST) }
    do throws(PosixError) {
      // No other healed database may replace this one later.
      let others = try folder.names().filter { Self.isHealed($0) && $0 != healed && folder.hasOwnFile($0) }
      if !others.isEmpty { try folder.remove(others) }
      for suffix in ["", "-wal"] where folder.contains(KeybagFile.database + suffix) {
        try keep(KeybagFile.database + suffix, as: aside + suffix, folder)
      }
      try folder.synchronize()
      // The log of the damaged database must not be used as the log of the healed one.
      folder.remove(KeybagFile.database + "-shm")
      try folder.remove([KeybagFile.database + "-wal"])
      try folder.replace(KeybagFile.database, by: healed)
    } catch {
      // After an exchange that is not on the disk yet, the next opening of the vault repeats the exchange.
      guard folder.contains(healed) else { return }
      try? putBack(folder)
      throw error
    }
  }

  /// Gives the damaged database and its log their former names again, the log first.
  func putBack(_ folder: borrowing Folder) throws(PosixError) {
    for suffix in ["-wal", ""] where folder.contains(aside + suffix) {
      let (own, kept) = (KeybagFile.database + suffix, aside + suffix)
      if folder.haveSameContent(own, kept) { try folder.remove([kept]) } else { try folder.move(kept, to: own) }
    }
    try folder.synchronize()
  }

  /// Gives a file one more name. If the file system has no second names, it renames the file.
  private func keep(_ name: String, as other: String, _ folder: borrowing Folder) throws(PosixError) {
    var hasLink = true
    do throws(PosixError) { try folder.link(name, to: other) } catch { hasLink = false }
    if hasLink {
      // Another file has that name, and must stay.
      guard folder.haveSameContent(name, other) else { throw PosixError("link", code: EEXIST) }
    } else {
      try folder.move(name, to: other)
    }
  }
}
