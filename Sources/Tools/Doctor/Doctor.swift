// Doctor: finds problems around the vault.
//
// `latchkey doctor` checks whatever the vault depends on and does not see by itself: PAM stacks, the
// owner of the bus name, units, screen lockers, limits of memory, prompters, portals, files of the
// vault. ``Doctor`` runs the checks over a ``SystemRoot``, a folder that tests choose, and over
// ``DesktopFacts``, which the command gathered before.
//
//     let doctor = Doctor(root: SystemRoot("/"), facts: facts, program: path)
//     for finding in doctor.findings() { show(finding) }
//
// A check is a function in one of the files that end with Examination. It returns a ``Finding`` with an id, such as
// `memory.freed`, and a fix if there is one. ``Provider`` knows other programs that keep secrets, and ProviderSwitch uses that
// too.
//
// The module promises that it changes nothing, starts nothing and needs no privilege. A fix for PAM is printed only after it was
// tried on the text of the files: ``PAMTrial`` goes through the stack as libpam does, and a test compares it with the real libpam.
// Every value in a command is quoted, so that a line can be pasted. No command leads root through a folder of a user.
//
// It does not repair anything: the person runs the commands. It reads no secret. It cannot see facts
// that need privileges, and says "unknown" for them. It does not know every distribution. On an unknown
// one it describes what must hold, without a command.

/// Checks everything outside the vault that the vault depends on. It changes nothing, starts nothing, and needs no privilege.
/// It uses the files of a system, and facts of the session that were gathered before.
public struct Doctor: Sendable {
  private let root: SystemRoot
  private let facts: DesktopFacts
  private let program: String

  /// - Parameter program: the file of a program for this kind of machine.
  public init(root: SystemRoot, facts: DesktopFacts, program: String) {
    self.root = root
    self.facts = facts
    self.program = program
  }

  /// The units of the user's manager that are checked.
  public static var userUnits: [String] { UnitExamination.userUnits }
  /// The units of the machine's manager that are checked.
  public static var systemUnits: [String] { UnitExamination.systemUnits }

  /// Only the finding about the owner of the secrets' name.
  public func nameFinding() -> Finding { NameExamination(root: root, facts: facts).owner() }

  /// Only the finding about the vault's files.
  public func vaultFilesFinding() -> Finding { VaultFilesExamination(root: root, facts: facts).finding() }

  /// The first finding about a login that opens no vault, because the PAM module is missing or in the wrong place; nil if all
  /// logins open it.
  public func loginFinding() -> Finding? {
    PAMExamination(root: root).findings().first {
      $0.condition == .broken && [.login, .likeLogin].contains(PAMService(String($0.id.dropFirst(4)), in: root))
    }
  }

  /// The findings of every check, always in the same order.
  public func findings() -> [Finding] {
    var findings = ModuleExamination(root: root, program: program).findings()
    findings += PAMExamination(root: root, isOff: UnitExamination(root: root, facts: facts).isOffForAll).findings()
    findings += OwnServices(root: root, uid: facts.uid).findings()
    findings += UnitExamination(root: root, facts: facts).findings()
    findings += NameExamination(root: root, facts: facts).findings()
    findings += KWalletExamination(root: root, facts: facts).findings()
    findings += PortalExamination(root: root, facts: facts).findings()
    findings += AgentExamination(root: root, facts: facts).findings()
    findings += MemoryExamination(root: root, facts: facts).findings()
    findings += VaultExamination(root: root, facts: facts).findings()
    findings += LockerExamination(root: root, facts: facts).findings()
    findings += PromptExamination(root: root, facts: facts).findings()
    findings += FingerExamination(root: root, hasProtector: facts.vault.value?.hasFinger).findings()
    guard UnitExamination(root: root, facts: facts).isOff else { return findings }
    return findings.map { Self.isOfSession($0.id) ? $0.whileOff : $0 }
  }

  /// Whether a check is about a running Latchkey. Such a finding is no fault if somebody turned Latchkey off.
  private static func isOfSession(_ id: String) -> Bool {
    ids.contains(id) || id.hasPrefix("provider.")
  }

  private static let ids: Set<String> = [
    "unit.first-unlock", "name", "activation", "memory.daemon", "memory.locked", "vault", "device-key", "lock-news",
    "locker", "prompts", "kwallet",
  ]
}
