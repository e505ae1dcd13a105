import Glibc
import LatchkeyControl
import LatchkeyKeybag
import LatchkeyPosix

/// The keybag's files in the user's home folder. The folder is opened for each access alone, because an open folder keeps the home
/// from being unmounted.
final class KeybagPlace {
  private let home: String
  private let uid: uid_t
  private let daemon: DaemonLink
  /// The identity of the home folder at the first access, which changes if the home is unmounted. nil before that access: a home
  /// that hangs must not hold up the greeting of the daemon.
  private var identity: Folder.Identity??

  /// The time in which a daemon must heal the keybag, in milliseconds.
  private static let healingLimit = 500

  init(home: String, uid: uid_t, daemon: DaemonLink) {
    (self.home, self.uid, self.daemon) = (home, uid, daemon)
  }

  /// The vault's folder. Hold it only while a file is read or written.
  func folder() throws(KeybagError) -> Folder {
    try checkPlace()
    return try KeybagFile.folder(home: home, owner: uid)
  }

  /// Refuses another home folder than at first: a late write must not land in the folder below an unmounted home.
  private func checkPlace() throws(KeybagError) {
    let present = Folder.Identity(path: home)
    let before: Folder.Identity? = identity ?? present
    identity = .some(before)
    guard present == before else { throw .missing }
  }

  // MARK: - reading

  /// Whether there is a vault. A vault without its keybag is damaged, and no other vault is created in its place.
  enum Presence {
    case absent
    case present
  }

  func presence() throws(KeybagError) -> Presence {
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

  /// The keybag as it is now.
  func load() throws(KeybagError) -> Keybag { try load(from: try folder()) }

  func load(from folder: borrowing Folder) throws(KeybagError) -> Keybag {
    do { return try KeybagFile.load(from: folder) } catch {
      if let healed = heal(folder) { return healed }
      throw error == .missing && folder.contains(KeybagFile.database) ? .alreadyThere : error
    }
  }

  /// The keybag that was healed from its copy; nil if it cannot be healed.
  private func heal(_ folder: borrowing Folder) -> Keybag? {
    guard folder.contains(KeybagFile.copyName) else { return nil }
    // A daemon that is asked for its status reads the files, heals the keybag in the same way, and tells the person.
    if let client = try? daemon.client() {
      _ = try? client.ask(GetStatus(), until: min(Process.now + KeybagPlace.healingLimit, daemon.end))
    }
    _ = KeybagFile.heal(in: folder)
    return try? KeybagFile.load(from: folder)
  }

  // MARK: - writing

  /// Makes the vault's folder.
  func makeFolder() throws(KeybagError) { _ = try KeybagFile.makeFolder(home: home, owner: uid) }

  /// Replaces a keybag by another.
  func replace(_ keybag: Keybag, with next: Keybag) throws(KeybagError) {
    try KeybagFile.replace(keybag, with: next, in: try folder())
  }

  /// Writes the first keybag. The slow work comes first, before this process opens or locks anything in the home folder.
  func create(_ make: () throws(KeybagError) -> Keybag.Opened) throws(KeybagError) -> Keybag.Opened {
    try checkPlace()
    try makeFolder()
    var made: Keybag.Opened? = try make()
    try checkPlace()
    return try KeybagFile.create(home: home, owner: uid) { () throws(KeybagError) in
      guard let opened = made.take() else { throw .damaged }
      return opened
    }
  }

  /// Raises the keybag's generation after the daemon took the keys. The daemon has made a database with the keys, so from now on a
  /// missing database is a loss.
  func confirm(_ opened: borrowing Keybag.Opened) throws(KeybagError) {
    try rewrite(opened, in: try folder()) { (opened, _) throws(KeybagError) in
      opened.keybag.awaitsDatabase ? try opened.confirming() : nil
    }
  }

  /// Writes the keybag that has one more password in front.
  func add(_ made: Protector, by opened: borrowing Keybag.Opened) throws(KeybagError) {
    try rewrite(opened, in: try folder()) { (opened, folder) throws(KeybagError) in
      try opened.adding(made, isAwaitingDatabase: KeybagFile.awaitsDatabase(in: folder))
    }
  }

  /// Replaces the present keybag by the keybag that `change` makes. If another process, such as a login of the same moment, has
  /// replaced it meanwhile, `change` is called with that keybag. No password is derived again.
  ///
  /// - Parameter change: makes the keybag; nil to write nothing.
  /// - Returns: Whether one was written.
  @discardableResult func rewrite(
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
}
