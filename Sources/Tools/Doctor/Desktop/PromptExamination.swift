import LatchkeyGettext
import LatchkeyText

/// Checks the programs that can ask the person.
struct PromptExamination {
  let root: SystemRoot
  let facts: DesktopFacts

  private static var prompters: [(String, String)] {
    [
      ("org.kde.secretprompter", translated("Plasma's dialog")),
      ("org.gnome.keyring.SystemPrompter", translated("GNOME's dialog (gcr)")),
    ]
  }

  func findings() -> [Finding] { [prompts(), fingers()] }

  private func has(_ program: String) -> String? {
    facts.searchPath.map { "\($0)/\(program)" }.first { root.contains($0) }
  }

  private func prompts() -> Finding {
    let id = "prompts"
    guard facts.hasDisplay else { return prompts(onTerminal: id) }
    let names = facts.busNames.value ?? []
    var ways = Self.prompters.filter { names.contains($0.0) }.map(\.1)
    if let pinentry = has("pinentry") { ways.append(pinentry) }
    if let first = ways.first { return .ok(id, first) }
    if case .unknown(let why) = facts.busNames { return .unknown(id, why) }
    let fix = Distribution(root).installing(debian: "gcr", fedora: "gcr", arch: "gcr", suse: "gcr")
    return Finding(
      id, .warning,
      translated("no program here can show a prompt in a window, so programs without a terminal cannot ask you"),
      fix: fix)
  }

  private func prompts(onTerminal id: String) -> Finding {
    switch facts.terminal {
    case .usable(let path):
      .ok(id, translated("no display here: prompts appear on the terminal of the program, as on \(path)"))
    case .none:
      .ok(
        id,
        translated("no display and no terminal here: only a program that has a terminal can ask you, and does so there")
      )
    case .unusable(let name):
      Finding(
        id, .warning,
        translated(
          "no display here, and no prompt can appear on this terminal (\(name)): its device is not yours, or a program uses it otherwise"
        ), fix: .advice(translated("log in on a terminal of your own, by login or ssh, and run this again")))
    }
  }

  /// Checks fprintd and its PAM service. A machine without a reader has no fault, and items that require a finger stay locked
  /// there.
  private func fingers() -> Finding {
    let id = "fingers"
    let hasService = root.contains("/usr/share/dbus-1/system-services/net.reactivated.Fprint.service")
    let hasModule = root.moduleFolders.contains { root.contains("\($0)/pam_fprintd.so") }
    switch (hasService, hasModule) {
    case (true, true): return .ok(id, translated("fprintd and pam_fprintd.so are installed"))
    case (false, false):
      return .ok(id, translated("fprintd is not installed, so items that require a finger stay locked"))
    case (true, false), (false, true):
      let missing = hasService ? "pam_fprintd.so" : "fprintd"
      return Finding(
        id, .warning, translated("\(missing) is missing, so items that require a finger stay locked"),
        fix: root.installingFingerPackages)
    }
  }
}

extension SystemRoot {
  fileprivate var installingFingerPackages: Finding.Fix? {
    Distribution(self).installing(
      debian: "fprintd libpam-fprintd", fedora: "fprintd fprintd-pam", arch: "fprintd", suse: "fprintd fprintd-pam")
  }

  /// The command that installs the programs which ask for a finger; nil if the packages' names are unknown.
  public var fingerPackages: String? {
    guard case .command(let command)? = installingFingerPackages else { return nil }
    return command.line
  }

  /// Whether another program than fprintd asks for a finger.
  public var hasOwnFingerService: Bool {
    let lines = lines("/etc/pam.d/latchkey-biometry")
    return !lines.isEmpty && !lines.contains { $0.contains(text: "pam_fprintd.so") }
  }
}
