import Glibc
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyText

/// Checks whether the vault's files exist and can be used. It reads no secret: the keybag has only wrapped keys, and the first
/// bytes of the database are enough.
struct VaultFilesExamination {
  let root: SystemRoot
  let facts: DesktopFacts

  private enum State {
    case usable
    case missing
    case unreadable
    /// The file is a link, or belongs to somebody else.
    case foreign
    case damaged
    case newer
  }

  private static let id = "vault.files"
  private static let databaseMagic = Array("SQLite format 3\0".utf8)
  /// The next unlock repairs the vault if it can.
  private static let repair = Finding.Fix.command("latchkey lock && latchkey unlock")

  private var folder: String { "\(facts.home)/.local/share/latchkey" }

  func finding() -> Finding {
    let (keybag, copy, database) = (keybag("keybag"), keybag("keybag.copy"), database())
    if keybag == .missing && copy == .missing && database == .missing { return none }
    if keybag == .usable && database == .missing && isUnfinished { return unfinished }
    if let finding = finding(keybag: keybag, copy: copy) ?? finding(database: database) { return finding }
    return .ok(Self.id, translated("keybag and vault.db can be used"))
  }

  private var none: Finding {
    // A vault in use still has its keys in memory.
    guard let vault = facts.vault.value, vault.isFirstUnlocked, vault.path == folder else {
      if let name = facts.lockedAccount, !isOff { return noPassword(of: name) }
      return .ok(Self.id, translated("there is no vault yet"))
    }
    return broken(
      translated("the files of the vault that is in use were moved or removed"),
      translated(
        """
        Move them back to \(folder). If they are lost, log out everywhere and log in again, then run 'latchkey restore' with \
        a backup.
        """))
  }

  private func noPassword(of name: String) -> Finding {
    Finding(
      Self.id, .warning,
      translated("there is no vault: a login with a password creates it, and this account has no local password"),
      fix: .advice(
        translated(
          """
          Give it a password with 'sudo passwd \(ShellCommand.quoted(name))', or turn Latchkey off for it with 'systemctl --user mask \
          latchkeyd.socket latchkeyd.service'.
          """)))
  }

  /// Whether no daemon made the database yet, as after a login while Latchkey was off. The vault itself uses the same rule.
  private var isUnfinished: Bool {
    guard hasNoGeneration, let bytes = root.bytes("\(folder)/keybag", count: Keybag.sizeLimit) else { return false }
    return (try? Keybag(decoding: bytes))?.awaitsDatabase ?? false
  }

  private var unfinished: Finding {
    if isOff {
      return .ok(
        Self.id,
        translated("there is no vault.db yet, as Latchkey is off; the first login after it is turned on creates it"))
    }
    return Finding(
      Self.id, .warning, translated("there is no vault.db yet; the next unlock creates it"),
      fix: .command("latchkey unlock"))
  }

  private var isOff: Bool { UnitExamination(root: root, facts: facts).isOff }

  private var hasNoGeneration: Bool { root.names(in: "\(folder)/generations").isEmpty }

  private func finding(keybag: State, copy: State) -> Finding? {
    switch keybag {
    case .usable: return nil
    case .newer:
      return broken(
        translated("keybag was written by a newer version of Latchkey"),
        translated("Install that version again, or put back the vault's folder from a backup of the disk."))
    case .unreadable: return unreadable("keybag")
    case .foreign: return foreign("keybag")
    case .missing, .damaged:
      if copy == .usable {
        return Finding(
          Self.id, .warning,
          translated("keybag is missing or damaged, and keybag.copy takes its place at the next unlock"),
          fix: Self.repair)
      }
      return broken(
        translated("keybag is missing or damaged, and keybag.copy too, so nothing unlocks the vault"),
        translated(
          """
          Put one of them back in \(folder) from a backup of the disk. If there is none, run 'latchkey start-empty', then \
          'latchkey unlock', which creates an empty vault, then 'latchkey restore' with a backup.
          """))
    }
  }

  private func finding(database: State) -> Finding? {
    switch database {
    case .usable, .newer: return nil
    case .unreadable: return unreadable("vault.db")
    case .foreign: return foreign("vault.db")
    case .missing, .damaged:
      guard hasNoGeneration else {
        return Finding(
          Self.id, .broken,
          translated("vault.db is missing or damaged, and the next unlock repairs it from the newest generation"),
          fix: Self.repair)
      }
      return broken(
        translated("vault.db is missing or damaged, and there is no generation to repair it from"),
        translated(
          """
          Put vault.db back in \(folder) from a backup of the disk. If there is none, run 'latchkey start-empty', then \
          'latchkey unlock', which creates an empty vault, then 'latchkey restore' with a backup.
          """))
    }
  }

  private func broken(_ found: String, _ advice: String) -> Finding {
    Finding(Self.id, .broken, found, fix: .advice(advice))
  }

  private func unreadable(_ name: String) -> Finding {
    let path = "\(folder)/\(name)"
    return Finding(
      Self.id, .broken, translated("\(name) cannot be read"),
      fix: .command("chmod 600 \(path) && latchkey lock && latchkey unlock"))
  }

  /// The advice has no command by which root changes the file's owner: before the command runs, a program of the session could put a
  /// link in the file's place.
  private func foreign(_ name: String) -> Finding {
    let path = "\(folder)/\(name)"
    return Finding(
      Self.id, .broken, translated("\(name) is a link, or belongs to somebody else"),
      fix: .command("mv -nT \(path) \(root.freeName(path + ".foreign")) && latchkey lock && latchkey unlock"),
      remark: VaultExamination.putBack)
  }

  // MARK: - files

  private func keybag(_ name: String) -> State {
    state(name, count: Keybag.sizeLimit + 1) { bytes in
      do throws(KeybagError) {
        _ = try Keybag(decoding: bytes)
        return .usable
      } catch {
        if case .newerFormat = error { return .newer }
        return .damaged
      }
    }
  }

  private func database() -> State {
    state("vault.db", count: Self.databaseMagic.count) { $0 == Self.databaseMagic ? .usable : .damaged }
  }

  private func state(_ name: String, count: Int, _ judge: ([UInt8]) -> State) -> State {
    let path = "\(folder)/\(name)"
    guard let status = root.ownStatus(path) else { return .missing }
    guard status.st_uid == facts.uid, status.st_mode & S_IFMT != S_IFLNK else { return .foreign }
    guard status.st_mode & S_IFMT == S_IFREG else { return .damaged }
    guard let bytes = root.bytes(path, count: count) else { return .unreadable }
    return judge(bytes)
  }
}
