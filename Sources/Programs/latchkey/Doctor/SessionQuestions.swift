import Glibc
import LatchkeyControl
import LatchkeyDoctor
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium
import LatchkeySystemd

/// Asks the session's bus, the machine's bus and the vault for doctor's facts. The questions start no program.
struct SessionQuestions {
  let place: DaemonPlace
  let home: String

  /// The time limit for one answer, in milliseconds.
  private static let timeout = 5000
  private static let secrets = "org.freedesktop.secrets"

  func facts() -> DesktopFacts {
    let environment = LatchkeyPosix.Process.environment
    var facts = DesktopFacts(uid: getuid(), home: home, runtime: place.folder)
    if let path = environment["PATH"] { facts.searchPath = path.split(separator: ":").map(String.init) }
    facts.hasDisplay = ["WAYLAND_DISPLAY", "DISPLAY"].contains { environment[$0]?.isEmpty == false }
    facts.terminal = Self.terminal
    facts.agentSocket = environment["SSH_AUTH_SOCK"] ?? ""
    do {
      let bus = try BusQuestions(.session)
      facts.secretsOwner = bus.owner(of: Self.secrets)
      facts.secretsQueue = bus.queue(for: Self.secrets).map { $0.map(\.process) }
      facts.ownedNames = bus.ownedNames()
      facts.busNames = bus.names()
      facts.userUnits = bus.units(Doctor.userUnits, of: translated("the user manager"))
    } catch {
      let why = translated("there is no session bus; run this in your session")
      (facts.secretsOwner, facts.busNames, facts.userUnits) = (.unknown(why), .unknown(why), .unknown(why))
    }
    do {
      facts.systemUnits = try BusQuestions(.system).units(Doctor.systemUnits, of: translated("the service manager"))
    } catch {
      facts.systemUnits = .unknown(translated("there is no system bus"))
    }
    facts.vault = vault(facts)
    facts.lockedAccount = Self.lockedAccount
    return facts
  }

  /// The terminal that latchkeyd would find for this process, tried as `latchkey-prompt` does.
  private static var terminal: DesktopFacts.Terminal {
    let number = ControllingTerminal.ofThisProcess
    guard number != 0 else { return .none }
    guard let path = ControllingTerminal.path(ofDevice: number) else {
      return .unusable(ControllingTerminal.label(ofDevice: number))
    }
    return ControllingTerminal.openForQuestions(path) == nil ? .unusable(path) : .usable(path)
  }

  /// Whether this account gets no vault, even with a password, because nobody logs in to such an account with a permanent password.
  static var isSystemAccount: Bool { getuid() < Account.firstPersonUID }

  /// The message for a person whose command needs a vault, if there is none.
  static var lackOfVault: String {
    isSystemAccount
      ? translated("root and system accounts get no vault")
      : translated("there is no vault yet: 'latchkey unlock' creates it.")
  }

  /// Whether the disk of the home folder is too full for a vault.
  ///
  /// - Parameter folder: the folder of the vault.
  static func lacksRoom(_ folder: String) -> Bool {
    KeybagFile.home(ofFolder: folder).map { KeybagFile.lacksRoom(home: $0, owner: getuid()) } ?? false
  }

  /// The name of the person's account, if no password fits it.
  ///
  /// passwd(1) can read the shadow file, so it is asked. Its answer counts only if the account has a line there, because a
  /// directory keeps the passwords of its accounts elsewhere. A system account gets no vault with a password either.
  static var lockedAccount: String? {
    guard !isSystemAccount, let account = Account(uid: getuid()), account.isShadowed, (try? Sodium.initialize()) != nil,
      let nothing = try? SecureBytes(count: 0),
      let outcome = try? ChildProgram(name: "passwd", arguments: ["-S"]).run(nothing), outcome.isDone
    else { return nil }
    let words = outcome.output.bytes.text.split(separator: " ")
    return words.count == 7 && words[1] == "L" ? account.name : nil
  }

  /// Doctor's finding if no program or another program owns the secrets' name; nil if Latchkey owns it, or if the bus does not say.
  static func strangeOwner() -> Finding? {
    guard let bus = try? BusQuestions(.session) else { return nil }
    var facts = DesktopFacts(uid: getuid(), home: "", runtime: "")
    facts.secretsOwner = bus.owner(of: secrets)
    let finding = Doctor(root: SystemRoot(), facts: facts, program: "/proc/self/exe").nameFinding()
    return finding.condition == .broken ? finding : nil
  }

  /// The ways to bring back a vault whose files cannot be used, each a line for a person; empty if they can be used.
  ///
  /// - Parameter folder: the folder of the vault.
  static func waysToRepair(_ folder: String) -> [String] {
    let below = "/.local/share/latchkey"
    guard folder.hasSuffix(below) else { return [] }
    let facts = DesktopFacts(uid: getuid(), home: String(folder.dropLast(below.utf8.count)), runtime: "")
    let finding = Doctor(root: SystemRoot(), facts: facts, program: "/proc/self/exe").vaultFilesFinding()
    guard finding.condition == .broken else { return [] }
    let way = finding.command.map { translated("Run '\($0)'.") } ?? finding.advice
    return ["\(finding.found)."] + (way.map { [$0] } ?? [])
  }

  /// The damage of the device key that a problem of the vault is about.
  private static func deviceDamage(_ problem: Reason) -> DesktopFacts.Vault.DeviceDamage? {
    switch problem.subject {
    case .deviceFile: problem.contains(.device(.fileDamaged)) ? .file : nil
    case .deviceService: problem.all.lazy.compactMap(serviceDamage).first
    default: nil
    }
  }

  private static func serviceDamage(_ reason: Reason) -> DesktopFacts.Vault.DeviceDamage? {
    switch reason {
    // Every user's key is lost only if the service's own file is lost.
    case .stateDamaged("device"), .device(.stateMissing): .service
    case .stateDamaged: .user
    case .device(.tpmOther): .chip
    default: nil
    }
  }

  /// A connection to the socket would start a daemon that does not run.
  private func vault(_ facts: DesktopFacts) -> Known<DesktopFacts.Vault> {
    if let units = facts.userUnits.value, units["latchkeyd.service"]?.active != "active" {
      return .unknown(translated("latchkeyd is not running, so it cannot be asked"))
    }
    do throws(ControlError) {
      let client = try ControlClient(runtime: place.folder, uid: getuid())
      let status = try client.ask(GetStatus(), until: LatchkeyPosix.Process.now + Self.timeout)
      return .known(
        DesktopFacts.Vault(
          deviceKey: status.deviceKey, isMemoryLocked: status.memoryLocked && status.swappableSecrets == 0,
          isFirstUnlocked: status.firstUnlocked, isCreated: status.generation > 0, path: status.vaultPath,
          problems: status.problems.map(\.told), lockSources: status.lockSources.map(\.told),
          needsFormerPassword: status.needsFormerPassword,
          repairs: status.problems.filter(\.isRepair).map(\.told),
          deviceDamage: status.problems.lazy.compactMap(Self.deviceDamage).first,
          hasFinger: status.protectors.contains { Protector.Kind(rawValue: $0.kind)?.name == "finger" }))
    } catch {
      return .unknown(
        error == .noDaemon
          ? translated("no vault is running, so it cannot be asked") : translated("the vault does not answer"))
    }
  }
}
