import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyPosix
import LatchkeyText

/// `latchkey status`
struct StatusCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: translated("Print the state of the vault, why it is locked, and what is wrong."),
    discussion: translated("It never prints a secret. The exit status is 0 whenever the vault answered, locked or not.")
  )

  @OptionGroup var place: DaemonPlace
  @Flag(help: .translated("As JSON, with the same keys in every version."))
  var json = false

  /// The time limit for the vault's answer, in milliseconds.
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
    let lock_codes: [ReasonCode]
    let locker_up: Bool
    let staged: Bool
    let classes: [String: Bool]
    let problems: [String]
    let problem_codes: [ReasonCode]
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
    let finger: String
    let finger_problem: String
    let finger_problem_code: ReasonCode?
    let protectors: [ListedProtector]
    let login_passwords: Int
    let history: History
    let damaged_files: [String]

    struct History: Encodable {
      let on: Bool
      let generations: UInt32
      let newest: UInt64
      let problem: String
      let problem_code: ReasonCode?
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
    let report = Report(
      state: status.state.name, first_unlocked: status.firstUnlocked, lock_reasons: status.lockReasons.map(\.text),
      lock_codes: status.lockReasons.map(ReasonCode.init),
      locker_up: status.lockerUp, staged: status.staged,
      classes: Dictionary(status.classes.map { ($0.name, $0.isPresent) }, uniquingKeysWith: { first, _ in first }),
      problems: status.problems.map(\.text), problem_codes: status.problems.map(ReasonCode.init),
      vault: status.vaultPath, generation: status.generation,
      device_key: status.deviceKey, memory_locked: status.memoryLocked, swappable_secrets: status.swappableSecrets,
      name_owner: status.nameOwner,
      lock_sources: status.lockSources.map(\.text), items: status.items, collections: status.collections,
      locked_collections: status.lockedCollections, other_device_items: status.otherDeviceItems,
      rotation: Report.Rotation(
        epoch: status.epoch, left: status.rotation.left, closed: status.rotation.closed,
        other_device: status.rotation.otherDevice, quarantined: status.rotation.quarantined,
        former_keys_needed: status.rotation.needsFormerKeys), recovery_code: status.recoveryCodeCreated > 0,
      passwordless: status.passwordless,
      older_files: (status.hasOlderKeybag ? ["keybag"] : []) + (status.hasOlderDatabase ? ["vault.db"] : []),
      needs_former_password: status.needsFormerPassword, opened_without_password: status.openedWithoutPassword,
      finger: status.finger.name, finger_problem: status.fingerProblem?.text ?? "",
      finger_problem_code: status.fingerProblem.map(ReasonCode.init),
      protectors: status.protectors.map(ListedProtector.init), login_passwords: Self.passwordCount(status),
      history: Report.History(
        on: status.history.isOn, generations: status.history.count, newest: status.history.newest,
        problem: status.history.problem?.text ?? "", problem_code: status.history.problem.map(ReasonCode.init)),
      damaged_files: status.damagedFiles)
    return try JSONText.of(report)
  }

  private static func passwordCount(_ status: Status) -> Int {
    status.protectors.count { ListedProtector($0).isPassword }
  }

  static func text(_ status: Status) -> String {
    var lines: [(String, String)] = []
    let reasons = lockReasons(status)
    let state = Self.state(status.state)
    lines.append((translated("State"), reasons.isEmpty ? state : "\(state): \(reasons.joined(separator: ", "))"))
    if status.needsFormerPassword { lines.append((translated("Login password"), Self.otherPassword(status))) }
    if status.state != .unlocked { lines.append((translated("To unlock"), Self.wayToUnlock(status))) }
    lines.append((translated("First unlocked"), Self.firstUnlocked(status)))
    if status.lockerUp {
      lines.append(
        (translated("Screen locker"), status.staged ? translated("up, keys wait until it is gone") : translated("up")))
    }
    lines.append(
      (
        translated("Vault"),
        status.hasLostVault
          ? translated("\(status.vaultPath) (missing)")
          : status.generation == 0 && !status.hasUnusableKeybag
            ? translated("\(status.vaultPath) (not created yet)") : status.vaultPath
      ))
    if status.generation > 0 {
      lines.append((translated("Holds"), Self.content(status)))
      lines.append((translated("Generations"), Self.history(status.history)))
    }
    if status.rotation.left > 0 || status.rotation.needsFormerKeys {
      let remarks = RotateCommand.remarks(status.rotation)
      lines.append(
        (
          translated("New keys"),
          remarks.isEmpty
            ? translated("created; the change continues at the next unlock") : remarks.joined(separator: " ")
        ))
    }
    if status.passwordless {
      lines.append(
        (
          translated("Login password"),
          translated("none, so the vault is always unlocked, and the device key alone protects it")
        ))
    }
    let passwords = Self.passwordCount(status)
    if passwords > 1 {
      lines.append((translated("Login passwords"), translated("\(passwords), until a login with the newest one")))
    }
    if status.generation > 0 {
      let ways = status.protectors.map { ListedProtector($0).text }
      // After a change of the password there are two passwords for a while.
      for index in ways.indices where !ways[..<index].contains(ways[index]) {
        lines.append((index == 0 ? translated("Unlocked by") : "", ways[index]))
      }
    }
    if status.finger != .notAdded { lines.append((translated("Finger"), Self.finger(status))) }
    lines.append((translated("Device key"), Self.deviceKey(status.deviceKey)))
    lines.append((translated("Memory"), Self.memory(status)))
    lines.append((translated("Secret Service"), Self.owner(status.nameOwner)))
    lines.append(
      (
        translated("Lock reports from"),
        status.lockSources.isEmpty
          ? translated("this command only") : status.lockSources.map(\.told).joined(separator: ", ")
      ))
    let width = lines.map(\.0.count).max() ?? 0
    var text = lines.map { $0.0.filling(column: width + 2) + $0.1 }
    text.append(translated("Keys in memory"))
    let nameWidth = status.classes.map(\.name.count).max() ?? 0
    for one in status.classes {
      text.append(
        "  " + one.name.filling(column: nameWidth + 2)
          + (one.isPresent ? translated("present") : translated("erased")))
    }
    if status.hasLostVault { text += [translated("The vault's files are missing")] + Self.waysWithoutVault(status) }
    let ways = status.waysToRepair
    if !ways.isEmpty { text += [translated("The vault cannot be unlocked")] + ways.map { "  " + $0 } }
    text += Self.otherDevice(status)
    text += Self.olderFiles(status)
    text += Self.damagedFiles(status)
    if !status.problems.isEmpty {
      text.append(translated("Problems"))
      text += status.problems.map { "  " + $0.told }
    }
    return text.map(TerminalText.printable).joined(separator: "\n")
  }

  /// The reasons of the lock, in the person's language.
  static func lockReasons(_ status: Status) -> [String] {
    status.lockReasons.map { $0 == .session(.command) ? translated("by 'latchkey lock'") : $0.told }
  }

  /// A login gave a password that is not the vault's, for example after root has reset the password.
  private static func otherPassword(_ status: Status) -> String {
    status.state == .unlocked
      ? translated(
        """
        the last one does not unlock the vault: it was changed without Latchkey, or mistyped. Run 'latchkey unlock' before the \
        vault is locked
        """)
      : translated("the last one does not unlock the vault: it was changed without Latchkey, or mistyped")
  }

  /// The way for a person to unlock the vault.
  private static func wayToUnlock(_ status: Status) -> String {
    if status.hasLostVault { return translated("put the vault's files back, or log out and in again (see below)") }
    if status.lockerUp { return translated("unlock the screen") }
    if status.hasUnusableKeybag { return translated("bring a usable keybag back, or start again (see below)") }
    if !status.waysToRepair.isEmpty { return translated("bring a usable vault.db back, or start again (see below)") }
    if status.problems.contains(.of(.keybag, .keybag(.onlyOtherDevice))) {
      return translated(
        """
        run 'latchkey unlock --recovery' with the recovery code; without one, run 'latchkey start-empty', and log out and in \
        again
        """)
    }
    if status.needsFormerPassword {
      return translated(
        "run 'latchkey unlock': give the present login password, then the former one or the recovery code")
    }
    guard status.generation == 0 else {
      return status.protectors.contains { ListedProtector($0).isSecurityKey }
        ? translated("run 'latchkey unlock', or 'latchkey unlock --security-key'") : translated("run 'latchkey unlock'")
    }
    if SessionQuestions.isSystemAccount { return translated("nothing: root and system accounts get no vault") }
    // Only a login without a password has a problem with the device key before there is a vault.
    if status.deviceKey == "unavailable" {
      return translated("log out and in again once the device key service answers, which creates the vault")
    }
    return waysWithoutPassword ?? translated("run 'latchkey unlock', which creates the vault")
  }

  /// The ways for a person whose account has no password, so that nothing creates a vault; nil for any other account.
  static var waysWithoutPassword: String? {
    SessionQuestions.lockedAccount.map { name in
      translated(
        """
        this account has no password, which a vault needs: give it one with 'sudo passwd \(ShellCommand.quoted(name))', or turn Latchkey off for it \
        with 'systemctl --user mask latchkeyd.socket latchkeyd.service'
        """)
    }
  }

  /// The ways for a person whose vault was moved or removed while it was in use.
  static func waysWithoutVault(_ status: Status) -> [String] {
    var lines = [
      translated("  If \(status.vaultPath) was moved, move it back. Then run 'latchkey unlock' if the vault is locked.")
    ]
    if status.state == .unlocked {
      lines.append(
        translated(
          "  If it is lost, run 'latchkey export json --plain FILE' now: items can be read until the vault is locked."))
    }
    return lines + [
      translated(
        "  If it is lost, log out everywhere and log in again, which creates an empty vault. Then run 'latchkey restore' with a backup, or 'latchkey import json FILE'."
      )
    ]
  }

  /// How to read items that another device's key protects.
  private static func otherDevice(_ status: Status) -> [String] {
    guard status.otherDeviceItems > 0 else { return [] }
    return [
      translated("Some items were stored on another device, or before this machine's key was lost"),
      translated(
        "  Only the key of that time reads them: bring /var/lib/latchkey back from a backup, if there is one."),
      translated("  If no other device needs them, remove them with 'latchkey rm', then store them again."),
    ]
  }

  /// The lines that explain that somebody put back an older copy of the vault, with the remedy.
  private static func olderFiles(_ status: Status) -> [String] {
    guard status.hasOlderKeybag || status.hasOlderDatabase else { return [] }
    var lines = [translated("An older copy of the vault was put back")]
    if status.hasOlderDatabase {
      lines.append(
        translated("  vault.db is older than when it was last opened here: what was stored or changed since is lost."))
    }
    if status.hasOlderKeybag {
      lines += [
        translated(
          "  keybag is older than when it was last opened here: a password or recovery code that was replaced since may open the vault again."
        ),
        translated("  Run 'latchkey rotate'. If there is a recovery code, run 'latchkey recovery create' before that."),
      ]
    }
    return lines + [
      translated(
        "  If you did not restore it, somebody else wrote into \(status.vaultPath), or the disk lost what was written.")
    ]
  }

  /// The lines about the files that healing put aside, with advice.
  private static func damagedFiles(_ status: Status) -> [String] {
    guard !status.hasUnusableFiles else { return lastCopies(status) }
    // The names of files of another vault are in FORMAT.md, section Keybag.
    let foreign = status.damagedFiles.filter { $0.hasPrefix("keybag.other-") }
    let damaged = status.damagedFiles.filter { !foreign.contains($0) }
    return otherKeybags(foreign, status) + damagedFiles(damaged, status)
  }

  /// One of these files can be the last from which the vault can be brought back.
  private static func lastCopies(_ status: Status) -> [String] {
    guard !status.damagedFiles.isEmpty else { return [] }
    return [translated("Files of the vault that earlier repairs put aside")]
      + status.damagedFiles.map { "  \(status.vaultPath)/\($0)" } + [
        translated("  Keep them until the vault can be unlocked again: it may need one of them.")
      ]
  }

  private static func otherKeybags(_ names: [String], _ status: Status) -> [String] {
    guard !names.isEmpty else { return [] }
    return [translated("A keybag of another vault was in the place of this vault's keybag. It was kept")]
      + names.map { "  \(status.vaultPath)/\($0)" } + [
        translated("  This vault does not need it. Keep it if you need the other vault.")
      ]
  }

  private static func damagedFiles(_ names: [String], _ status: Status) -> [String] {
    guard !names.isEmpty else { return [] }
    let count = names.count
    return [
      translated(
        count, one: "The vault was repaired. This damaged file was kept",
        other: "The vault was repaired. These damaged files were kept")
    ]
      + names.map { "  \(status.vaultPath)/\($0)" } + [
        "  "
          + translated(
            count,
            one:
              "The vault does not need it. Check your items, then delete it: the content is as secret as the vault.",
            other:
              "The vault does not need them. Check your items, then delete them: the content is as secret as the vault."
          )
      ]
  }

  static func state(_ state: Status.State) -> String {
    switch state {
    case .sealed: translated("sealed")
    case .locked: translated("locked")
    case .unlocked: translated("unlocked")
    }
  }

  private static func firstUnlocked(_ status: Status) -> String {
    guard status.firstUnlocked else { return translated("not yet") }
    return status.openedWithoutPassword ? translated("yes, by a login without a password") : translated("yes")
  }

  /// Whether a finger unlocks the vault, and why not.
  private static func finger(_ status: Status) -> String {
    switch status.finger {
    case .notAdded: ""
    case .inTPM: translated("unlocks the vault again; the TPM has the key")
    case .inMemory:
      translated("unlocks the vault again; the key is in memory, where whoever reads all memory finds it")
    case .waitsForPassword:
      status.fingerProblem.map { translated("waits for the password: \($0.told)") }
        ?? translated("waits for the next unlock by the password")
    }
  }

  private static func content(_ status: Status) -> String {
    let locked = status.lockedCollections
    let items = translated(status.items, one: "\(status.items) item", other: "\(status.items) items")
    let collections = translated(
      status.collections, one: "\(status.collections) collection", other: "\(status.collections) collections")
    var parts = [
      status.hasLockedItems
        ? translated("\(items) (some locked explicitly) in \(collections)")
        : translated("\(items) in \(collections)")
    ]
    if locked > 0 { parts[0] += " " + translated("(\(locked) locked by command)") }
    if status.otherDeviceItems > 0 { parts.append(translated("\(status.otherDeviceItems) stored on another device")) }
    return parts.joined(separator: "; ")
  }

  private static func history(_ history: Status.History) -> String {
    var parts: [String] = []
    if history.count > 0 {
      let time = LocalTime(history.newest).minute
      parts.append(
        translated(
          history.count, one: "\(history.count) is kept, made on \(time)",
          other: "\(history.count) are kept, the newest made on \(time)"))
      if !history.isOn { parts.append(translated("turned off, so no new one is made")) }
    } else {
      parts.append(history.isOn ? translated("none yet") : translated("off"))
    }
    if let problem = history.problem { parts.append(translated("a new one could not be made: \(problem.told)")) }
    return parts.joined(separator: "; ")
  }

  private static func memory(_ status: Status) -> String {
    guard status.memoryLocked else {
      return translated("keys and secrets could be swapped out; run 'latchkey doctor' for what fixes it")
    }
    return switch status.swappableSecrets {
    case 0: translated("keys and secrets are kept out of swap")
    case let count:
      translated(
        count,
        one:
          """
          keys and secrets are kept out of swap, but 1 secret was too large for the limit and could be swapped out; \
          run 'latchkey doctor' for a larger limit
          """,
        other:
          """
          keys and secrets are kept out of swap, but \(count) secrets were too large for the limit and could be swapped \
          out; run 'latchkey doctor' for a larger limit
          """)
    }
  }

  private static func owner(_ name: String) -> String {
    if name == "latchkeyd" { return translated("owned by Latchkey") }
    // The vault knows the connection only, and doctor the program.
    guard let finding = SessionQuestions.strangeOwner() else {
      return ["", "nobody"].contains(name)
        ? translated("owned by no program, so programs do not reach this vault")
        : translated("owned by \(name), so programs do not reach this vault")
    }
    if let command = finding.command { return translated("\(finding.found); run '\(command)'") }
    guard case .advice(let text)? = finding.fix else { return finding.found }
    return "\(finding.found). \(text)"
  }

  private static func deviceKey(_ backend: String) -> String {
    switch backend {
    case "": translated("none yet")
    case "tpm": translated("sealed to this machine's TPM, with the system service")
    case "host": translated("a file that only the system service reads")
    case "file": translated("a file beside the vault (weak: anybody who copies it and /etc/machine-id has the key)")
    case "unavailable":
      translated("cannot be used now, so secrets bound to this device cannot be read (see the problems)")
    default: backend
    }
  }
}

extension Status {
  /// Whether the files of a vault that is in use were moved or removed.
  var hasLostVault: Bool { firstUnlocked && generation == 0 && access("\(vaultPath)/vault.db", F_OK) != 0 }

  /// Whether there is a keybag, but neither the keybag nor its copy can be used.
  var hasUnusableKeybag: Bool {
    generation == 0 && !hasLostVault && ["keybag", "keybag.copy"].contains { access("\(vaultPath)/\($0)", F_OK) == 0 }
  }

  /// Whether the database cannot be used, and there is no generation that an unlock could make it again from.
  private var hasLostDatabase: Bool {
    state == .sealed && generation > 0 && history.count == 0 && problems.contains { $0.subject == .database }
  }

  /// The ways to bring back a vault that no unlock repairs, each a line for a person; empty if an unlock may repair it.
  var waysToRepair: [String] {
    hasUnusableKeybag || hasLostDatabase ? SessionQuestions.waysToRepair(vaultPath) : []
  }

  /// Whether the state of the vault's files prevents every unlock.
  var hasUnusableFiles: Bool { hasUnusableKeybag || lockReasons.contains(.session(.filesUnusable)) }
}
