import ArgumentParser
import FoundationEssentials
import Glibc
import LatchkeyControl
import LatchkeyPosix

/// `latchkey status`
struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Print the state of the vault, why it is locked, and what is wrong.",
    discussion: "It never prints a secret. The exit status is 0 whenever the vault answered, locked or not.")

  @OptionGroup var place: Place
  @Flag(help: "As JSON, with the same keys in every version.")
  var json = false

  /// How long the vault may take to answer, in milliseconds.
  static let answerLimit = 5000

  func run() throws {
    let status = try Failure.telling {
      try place.connect().ask(GetStatus(), until: LatchkeyPosix.Process.now + StatusCommand.answerLimit)
    }
    print(json ? try Self.json(status) : Self.text(status))
  }

  private struct Report: Encodable {
    let version = Latchkey.version
    let state: String
    let first_unlocked: Bool
    let lock_reasons: [String]
    let locker_up: Bool
    let staged: Bool
    let classes: [String: Bool]
    let problems: [String]
    let vault: String
    let generation: UInt64
    let device_key: String
    let memory_locked: Bool
    let swappable_secrets: UInt64
    let name_owner: String
    let lock_sources: [String]
    let items: UInt64
    let collections: UInt64
    let locked_collections: UInt64
    let other_device_items: UInt64
    let rotation: Rotation
    let recovery_code: Bool
    let passwordless: Bool
    let older_files: [String]
    let needs_former_password: Bool
    let opened_without_password: Bool
    let protectors: [ListedProtector]
    let login_passwords: Int
    let history: History
    let damaged_files: [String]

    struct History: Encodable {
      let on: Bool
      let generations: UInt32
      let newest: UInt64
      let problem: String
    }

    struct Rotation: Encodable {
      let epoch: UInt32
      let left: UInt64
      let closed: UInt64
      let other_device: UInt64
      let quarantined: UInt64
      let former_keys_needed: Bool
    }
  }

  static func json(_ status: Status) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    let report = Report(
      state: status.state.name, first_unlocked: status.firstUnlocked, lock_reasons: status.lockReasons,
      locker_up: status.lockerUp, staged: status.staged,
      classes: Dictionary(status.classes.map { ($0.name, $0.isPresent) }, uniquingKeysWith: { first, _ in first }),
      problems: status.problems, vault: status.vaultPath, generation: status.generation,
      device_key: status.deviceKey, memory_locked: status.memoryLocked, swappable_secrets: status.swappableSecrets,
      name_owner: status.nameOwner,
      lock_sources: status.lockSources, items: status.items, collections: status.collections,
      locked_collections: status.lockedCollections, other_device_items: status.otherDeviceItems,
      rotation: Report.Rotation(
        epoch: status.epoch, left: status.rotation.left, closed: status.rotation.closed,
        other_device: status.rotation.otherDevice, quarantined: status.rotation.quarantined,
        former_keys_needed: status.rotation.needsFormerKeys), recovery_code: status.recoveryCodeCreated > 0,
      passwordless: status.passwordless,
      older_files: (status.hasOlderKeybag ? ["keybag"] : []) + (status.hasOlderDatabase ? ["vault.db"] : []),
      needs_former_password: status.needsFormerPassword, opened_without_password: status.openedWithoutPassword,
      protectors: status.protectors.map(ListedProtector.init), login_passwords: Self.passwordCount(status),
      history: Report.History(
        on: status.history.isOn, generations: status.history.count, newest: status.history.newest,
        problem: status.history.problem), damaged_files: status.damagedFiles)
    return String(decoding: try encoder.encode(report), as: UTF8.self)
  }

  private static func passwordCount(_ status: Status) -> Int {
    status.protectors.count { ListedProtector($0).isPassword }
  }

  static func text(_ status: Status) -> String {
    var lines: [(String, String)] = []
    let reasons = status.lockReasons.map { $0 == "command" ? "by 'latchkey lock'" : $0 }
    lines.append(("State", status.state.name + (reasons.isEmpty ? "" : ": " + reasons.joined(separator: ", "))))
    if status.state != .unlocked { lines.append(("To unlock", Self.wayToUnlock(status))) }
    let withoutPassword = status.openedWithoutPassword ? ", by a login without a password" : ""
    lines.append(("First unlocked", status.firstUnlocked ? "yes" + withoutPassword : "not yet"))
    if status.lockerUp { lines.append(("Screen locker", "up" + (status.staged ? ", keys wait until it is gone" : ""))) }
    lines.append(("Vault", status.vaultPath + (status.generation == 0 ? " (not created yet)" : "")))
    if status.generation > 0 {
      lines.append(("Holds", Self.content(status)))
      lines.append(("Generations", Self.history(status.history)))
    }
    if status.rotation.left > 0 || status.rotation.needsFormerKeys {
      let remarks = RotateCommand.remarks(status.rotation)
      lines.append(
        ("New keys", remarks.isEmpty ? "created; the next unlock continues" : remarks.joined(separator: " ")))
    }
    if status.passwordless {
      lines.append(("Login password", "none, so the vault is always unlocked, and the device key alone protects it"))
    }
    let passwords = Self.passwordCount(status)
    if passwords > 1 { lines.append(("Login passwords", "\(passwords), until a login with the newest one")) }
    if status.recoveryCodeCreated > 0 { lines.append(("Recovery code", "created")) }
    if status.generation > 0 {
      let ways = status.protectors.map { ListedProtector($0).text }
      // After a change of the password there are two for a while.
      let each = ways.indices.filter { !ways[..<$0].contains(ways[$0]) }.map { ways[$0] }
      lines.append(("Unlocked by", each.joined(separator: ", ")))
    }
    lines.append(("Device key", Self.deviceKey(status.deviceKey)))
    lines.append(("Memory", Self.memory(status)))
    lines.append(("Secret Service", Self.owner(status.nameOwner)))
    lines.append(
      (
        "Lock reports from",
        status.lockSources.isEmpty ? "this command only" : status.lockSources.joined(separator: ", ")
      ))
    let width = lines.map(\.0.count).max() ?? 0
    var text = lines.map { $0.0.filling(column: width + 2) + $0.1 }
    text.append("Keys in memory")
    let nameWidth = status.classes.map(\.name.count).max() ?? 0
    for one in status.classes {
      text.append(
        "  " + one.name.filling(column: nameWidth + 2)
          + (one.isPresent ? "present" : "erased"))
    }
    text += Self.olderFiles(status)
    text += Self.damagedFiles(status)
    if !status.problems.isEmpty {
      text.append("Problems")
      text += status.problems.map { "  " + $0 }
    }
    return text.map(TerminalText.printable).joined(separator: "\n")
  }

  /// What a person does to unlock it.
  private static func wayToUnlock(_ status: Status) -> String {
    if status.lockerUp { return "unlock the screen" }
    return "run 'latchkey unlock'" + (status.generation == 0 ? ", which creates the vault" : "")
  }

  /// What it means that an older copy of the vault was put back, and what to do.
  private static func olderFiles(_ status: Status) -> [String] {
    guard status.hasOlderKeybag || status.hasOlderDatabase else { return [] }
    var lines = ["An older copy of the vault was put back"]
    if status.hasOlderDatabase {
      lines.append("  vault.db is older than when it was last opened here: what was stored or changed since is lost.")
    }
    if status.hasOlderKeybag {
      lines += [
        "  keybag is older than when it was last opened here: a password or recovery code that was replaced since may",
        "  open the vault again. Run 'latchkey rotate'; if there is a recovery code, 'latchkey recovery create' before.",
      ]
    }
    return lines + [
      "  If you did not restore it, somebody else wrote into \(status.vaultPath), or the disk lost what was written."
    ]
  }

  /// The damaged files that healing put aside, and what to do with them.
  private static func damagedFiles(_ status: Status) -> [String] {
    guard !status.damagedFiles.isEmpty else { return [] }
    let isOne = status.damagedFiles.count == 1
    return ["The vault was repaired. \(isOne ? "This damaged file was" : "These damaged files were") kept"]
      + status.damagedFiles.map { "  \(status.vaultPath)/\($0)" } + [
        "  The vault does not need \(isOne ? "it" : "them"). Check your items, then delete \(isOne ? "it" : "them"): "
          + "the content is as secret as the vault."
      ]
  }

  private static func content(_ status: Status) -> String {
    func count(_ number: UInt64, _ thing: String) -> String { "\(number) \(thing)" + (number == 1 ? "" : "s") }
    let locked = status.lockedCollections == 0 ? "" : " (\(status.lockedCollections) locked by command)"
    let lockedItems = status.hasLockedItems ? " (some locked by themselves)" : ""
    let foreign = status.otherDeviceItems == 0 ? "" : "; \(status.otherDeviceItems) stored on another device"
    return count(status.items, "item") + lockedItems + " in " + count(status.collections, "collection") + locked
      + foreign
  }

  private static func history(_ history: Status.History) -> String {
    let problem = history.problem.isEmpty ? "" : "; no other was made: \(history.problem)"
    guard history.count > 0 else { return (history.isOn ? "none yet" : "off") + problem }
    return "\(history.count), the last of \(LocalTime(history.newest).minute)" + (history.isOn ? "" : ", and off now")
      + problem
  }

  private static func memory(_ status: Status) -> String {
    guard status.memoryLocked else {
      return "keys and secrets could be swapped out; run 'latchkey doctor' for what fixes it"
    }
    let kept = "keys and secrets are kept out of swap"
    let advice = "run 'latchkey doctor' for a larger limit"
    return switch status.swappableSecrets {
    case 0: kept
    case 1: "\(kept), but 1 secret was too large for the limit and could be swapped out; \(advice)"
    case let count: "\(kept), but \(count) secrets were too large for the limit and could be swapped out; \(advice)"
    }
  }

  private static func owner(_ name: String) -> String {
    switch name {
    case "latchkeyd": "ours"
    case "", "nobody": "owned by no program, so programs do not reach this vault"
    default: "owned by \(name), so programs do not reach this vault"
    }
  }

  private static func deviceKey(_ backend: String) -> String {
    switch backend {
    case "": "none yet"
    case "tpm": "sealed to this machine's TPM, with the system service"
    case "host": "a file that only the system service reads"
    case "file": "a file beside the vault (weak: anybody who copies it and /etc/machine-id has the key)"
    case "unavailable": "cannot be used now, so secrets bound to this device cannot be read (see the problems)"
    default: backend
    }
  }
}
