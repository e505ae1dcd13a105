import LatchkeyGettext
import LatchkeyText

/// Checks which program serves secrets: the owner of the name on the bus, and others that could own it.
struct NameExamination {
  static let name = "org.freedesktop.secrets"

  let root: SystemRoot
  let facts: DesktopFacts

  func findings() -> [Finding] { [owner()] + providers() + agents() + [activation(), policy()] }

  private var ownerProcess: RunningProcess? {
    if case .process(let id)? = facts.secretsOwner.value { RunningProcess(id, in: root) } else { nil }
  }

  private var isOurs: Bool { ownerProcess?.name == "latchkeyd" }

  func owner() -> Finding {
    let id = "name"
    switch facts.secretsOwner {
    case .unknown(let why): return .unknown(id, why)
    case .known(.nobody):
      return Finding(
        id, .broken, translated("no program owns \(NameExamination.name), so programs do not reach the vault"),
        fix: .command("systemctl --user restart latchkeyd.socket && systemctl --user start latchkeyd.service"))
    case .known(.process(let number)):
      guard let process = ownerProcess else {
        return .unknown(id, translated("process \(number) owns \(NameExamination.name), and cannot be examined"))
      }
      if isOurs { return waiting(id) ?? .ok(id, translated("latchkeyd owns \(NameExamination.name)")) }
      let known = Provider.of(process: process.name)
      return Finding(
        id, .broken,
        translated(
          """
          \(known?.title ?? process.name) (process \(number)) owns \(NameExamination.name), so programs do not \
          reach this vault
          """),
        fix: known != nil
          ? Provider.fix(root)
          : .advice(translated("Turn the Secret Service off in \(process.name), quit it, and log in again.")))
    }
  }

  /// The program that gets the name the moment that latchkeyd ends, in a crash or for an upgrade.
  private func waiting(_ id: String) -> Finding? {
    let waiting = (facts.secretsQueue.value ?? []).dropFirst().compactMap { RunningProcess($0, in: root) }
    guard let next = waiting.first(where: { $0.name != "latchkeyd" }) else { return nil }
    let known = Provider.of(process: next.name)
    // The place in the bus's queue that the service manager keeps for the next daemon.
    if waiting.first?.name == "latchkeyd" {
      return .ok(
        id,
        "latchkeyd owns \(NameExamination.name), also after a crash or a restart; \(known?.title ?? next.name) (process"
          + " \(next.id)) waits behind it, and gets the name only when latchkeyd is stopped")
    }
    return Finding(
      id, .warning,
      translated(
        """
        latchkeyd owns \(NameExamination.name), but \(known?.title ?? next.name) (process \(next.id)) waits for \
        the name and gets it as soon as latchkeyd ends
        """),
      fix: known != nil
        ? Provider.fix(root) : .advice(translated("Turn the Secret Service off in \(next.name), and quit it.")))
  }

  private func providers() -> [Finding] {
    Provider.all.filter { $0.isInstalled(root, searchPath: facts.searchPath) }.map { provider in
      let id = "provider.\(provider.id)"
      let enabling = provider.enabling(root, home: facts.home, searchPath: facts.searchPath)
      if enabling.isEmpty {
        return .ok(id, translated("\(provider.title) is installed, but nothing starts it for secrets"))
      }
      let by = enabling.joined(separator: ", ")
      guard facts.secretsOwner.value != nil else {
        return .unknown(id, translated("\(provider.title) is enabled (\(by)); the owner of the name is not known"))
      }
      if isOurs {
        return .ok(
          id, translated("\(provider.title) is enabled too (\(by)), but Latchkey started first and owns the name"))
      }
      return Finding(
        id, .warning, translated("\(provider.title) is enabled (\(by)), and takes the name if it starts first"),
        fix: Provider.fix(root))
    }
  }

  /// Agents for ssh of other keyrings, which may run beside Latchkey. They have no secret of the vault, and ignore its locks.
  private func agents() -> [Finding] {
    let running = Set(RunningProcess.all(of: facts.uid, in: root).map(\.name))
    var findings: [Finding] = []
    if root.contains("\(facts.runtime)/keyring/ssh"),
      !running.isDisjoint(with: Provider.all.first { $0.id == "gnome-keyring" }?.processes ?? [])
    {
      findings.append(
        .ok(
          "ssh-agent.gnome-keyring",
          translated(
            """
            gnome-keyring's ssh agent runs beside Latchkey: it signs while the vault is locked, and keeps passphrases of ssh keys \
            in a file of its own, ~/.local/share/keyrings/login.keyring
            """)))
    }
    if root.contains("\(facts.runtime)/gcr/ssh"), running.contains("gcr-ssh-agent") {
      findings.append(
        .ok(
          "ssh-agent.gcr",
          translated(
            """
            gcr's ssh agent runs beside Latchkey: it signs with the keys that it has while the vault is locked. It keeps \
            passphrases of ssh keys in the vault
            """)))
    }
    return findings
  }

  /// The program that the bus would start for the name, by its service files. No call asks the bus which service files it has
  /// read.
  private func activation() -> Finding {
    let id = "activation"
    let ours = "/dbus-1/services/\(NameExamination.name).latchkey.service"
    let link = "\(facts.runtime)/dbus-1/services/\(NameExamination.name).service"
    let fix = Finding.Fix.command(
      "systemctl --user restart latchkeyd.socket && systemctl --user start latchkeyd.service")
    let folders = ["\(facts.home)/.local/share", "/usr/local/share", "/usr/share"]
    guard folders.contains(where: { root.contains($0 + ours) }) else {
      return Finding(
        id, .broken, translated("the file that tells the bus how to start Latchkey is missing"),
        fix: Installation(root: root).reinstalling)
    }
    guard root.contains(facts.runtime) else {
      return .unknown(id, translated("\(facts.runtime) does not exist, so there is no session"))
    }
    if case .text(let text) = root.content(link), text.contains(text: "SystemdService=latchkeyd.service") {
      let places = ["\(facts.runtime)/dbus-1", "\(facts.runtime)/dbus-1/services"]
      if let place = places.first(where: { (root.status($0)?.st_mode ?? 0) & 0o022 != 0 }) {
        return Finding(
          id, .warning, translated("the bus ignores \(link), because other users can write to \(place)"),
          fix: .command(
            """
            chmod go-w \(words: places) && busctl --user call org.freedesktop.DBus / org.freedesktop.DBus ReloadConfig
            """))
      }
      return .ok(id, translated("the service files have the bus start latchkeyd for the name"))
    }
    if root.contains(link) {
      return Finding(id, .warning, translated("\(link) makes the bus start another program"), fix: fix)
    }
    let other = folders.map { "\($0)/dbus-1/services/\(NameExamination.name).service" }.first { root.contains($0) }
    guard let other else { return .ok(id, translated("the service files have the bus start latchkeyd for the name")) }
    return Finding(
      id, .warning, translated("\(link) is missing, so the bus may start what \(other) names"),
      fix: fix)
  }

  /// Rules of the bus against the name.
  private func policy() -> Finding {
    let id = "bus-policy"
    guard let (path, rule) = BusPolicy(root: root).refusal else {
      return .ok(id, translated("no rule of the session bus forbids the name"))
    }
    return Finding(
      id, .broken, translated("\(path) forbids the name: <\(rule)>"),
      fix: .advice(translated("Remove that line from \(path), and log in again.")))
  }
}
