import LatchkeyGettext
import LatchkeyText

/// Checks the units that start the vault's programs: whether they exist, are enabled, and run.
struct UnitExamination {
  let root: SystemRoot
  let facts: DesktopFacts

  private static let socket = "latchkeyd.socket"
  private static let service = "latchkeyd.service"
  private static let target = "latchkey-first-unlock.target"
  private static let device = "latchkey-deviced.socket"

  /// Units of the user's manager that matter.
  static let userUnits = [socket, service, target]
  /// Units of the machine's manager that matter.
  static let systemUnits = [device]

  func findings() -> [Finding] { [socketFinding(), serviceFinding(), targetFinding(), deviceFinding()] }

  private static var notKnown: String { translated("not known to the user manager") }

  private var files: UnitFiles { UnitFiles(root: root, home: facts.home) }

  /// Whether somebody turned Latchkey off: nobody masks both units by mistake.
  var isOff: Bool { [UnitExamination.socket, UnitExamination.service].allSatisfy { files.mask($0) != nil } }

  /// Whether an administrator turned the unit off for all users, and no file of the person overrides that.
  var isOffForAll: Bool {
    let shared = UnitFiles(root: root, home: nil)
    return isOff && [UnitExamination.socket, UnitExamination.service].allSatisfy { shared.mask($0) != nil }
  }

  /// A unit that is kept from being started.
  private func masked(_ id: String, _ unit: String) -> Finding? {
    guard let path = files.mask(unit) else { return nil }
    let isOwn = path.hasPrefix(facts.home + "/")
    if isOff { return off(id, path, isOwn: isOwn) }
    if isOwn && OwnSwitch(root: root, home: facts.home).isHandedBack {
      return Finding(
        id, .broken, translated("masked by \(path), since 'latchkey switch --back'"), fix: Provider.fix(root))
    }
    let machine = MachineSwitch(root: root)
    if !isOwn && machine.isMaskedWithRecord {
      return Finding(
        id, .broken, translated("masked by \(path) for all users"), fix: .command(ShellCommand(line: machine.unmask)))
    }
    return Finding(
      id, .broken, translated("masked by \(path)"),
      fix: .command(
        isOwn
          ? "rm \(path) && systemctl --user daemon-reload && systemctl --user start \(unit)"
          : "sudo rm \(path) && systemctl --user daemon-reload && systemctl --user start \(unit)"))
  }

  private func off(_ id: String, _ path: String, isOwn: Bool) -> Finding {
    let command =
      if isOwn && OwnSwitch(root: root, home: facts.home).isHandedBack {
        Provider.takeOver(root)
      } else if isOwn {
        OwnSwitch.unmask
      } else {
        MachineSwitch(root: root).unmask
      }
    return .ok(id, translated("masked by \(path), so Latchkey is off on purpose; '\(command)' turns it on again"))
  }

  private func socketFinding() -> Finding {
    let (id, unit) = ("unit.socket", UnitExamination.socket)
    if let masked = masked(id, unit) { return masked }
    guard files.path(unit) != nil else {
      return Finding(
        id, .broken, translated("\(unit) is not installed"),
        fix: Installation(root: root).reinstalling)
    }
    guard files.isWanted(unit) else {
      return Finding(
        id, .broken, translated("\(unit) is not enabled, so nothing starts latchkeyd at login"),
        fix: .command("systemctl --user enable --now \(unit)"))
    }
    switch facts.userUnits {
    case .unknown(let why): return .unknown(id, why)
    case .known(let units):
      guard units[unit]?.active == "active" else {
        return Finding(
          id, .broken, translated("\(unit) is enabled, but \(units[unit]?.active ?? UnitExamination.notKnown)"),
          fix: .command("systemctl --user daemon-reload && systemctl --user restart \(unit)"))
      }
      return .ok(id, translated("\(unit) is enabled and active"))
    }
  }

  private func serviceFinding() -> Finding {
    let (id, unit) = ("unit.daemon", UnitExamination.service)
    if let masked = masked(id, unit) { return masked }
    switch facts.userUnits {
    case .unknown(let why): return .unknown(id, why)
    case .known(let units):
      switch units[unit]?.active {
      case "active": return .ok(id, translated("\(unit) is active"))
      case "failed":
        return Finding(
          id, .broken, translated("\(unit) failed; 'journalctl --user -u latchkeyd' says why"),
          fix: .command("systemctl --user reset-failed \(unit) && systemctl --user start \(unit)"))
      case "inactive":
        return Finding(
          id, .warning, translated("\(unit) is not running"), fix: .command("systemctl --user start \(unit)"))
      case let state: return .unknown(id, translated("\(unit) is \(state ?? UnitExamination.notKnown)"))
      }
    }
  }

  private func targetFinding() -> Finding {
    let (id, unit) = ("unit.first-unlock", UnitExamination.target)
    if let masked = masked(id, unit) { return masked }
    guard files.path(unit) != nil else {
      return Finding(
        id, .warning, translated("\(unit) is not installed, so units that wait for secrets never start"),
        fix: Installation(root: root).reinstalling)
    }
    guard let units = facts.userUnits.value, let vault = facts.vault.value else {
      return .ok(id, translated("\(unit) is installed"))
    }
    let isReached = units[unit]?.active == "active"
    if isReached == vault.isFirstUnlocked {
      return .ok(
        id, isReached ? translated("reached") : translated("not reached yet, because the vault was not unlocked yet"))
    }
    return Finding(
      id, .warning,
      isReached
        ? translated("reached, but the vault was not unlocked yet")
        : translated("not reached, but the vault was unlocked"),
      fix: .command("systemctl --user \(isReached ? "stop" : "start") \(unit)"))
  }

  private func deviceFinding() -> Finding {
    let (id, unit) = ("unit.device", UnitExamination.device)
    switch facts.systemUnits {
    case .unknown(let why): return .unknown(id, why)
    case .known(let units):
      switch (units[unit]?.load, units[unit]?.active) {
      case (_, "active"): return .ok(id, translated("\(unit) is active"))
      case ("masked", _):
        return Finding(
          id, .warning, translated("\(unit) is masked"),
          fix: .command("sudo systemctl unmask \(unit) && sudo systemctl start \(unit)"))
      case ("loaded", let state?):
        return Finding(
          id, .warning,
          translated("\(unit) is \(state), so the device key is a file beside the vault, or cannot be used"),
          fix: .command("sudo systemctl daemon-reload && sudo systemctl restart \(unit)"))
      default:
        return Finding(
          id, .warning, translated("\(unit) is not installed, so the device key is a file beside the vault"),
          fix: Installation(root: root).reinstalling)
      }
    }
  }
}
