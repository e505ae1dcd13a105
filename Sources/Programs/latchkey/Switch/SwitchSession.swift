import Glibc
import LatchkeyDoctor
import LatchkeyGettext
import LatchkeyPosix
import LatchkeyProviderSwitch
import LatchkeySystemd

/// The running session during a switch: the owners of the name, and the ways to make them leave it.
struct SwitchSession {
  let runtime: String
  let home: String
  let bus: BusQuestions
  /// Shows a person the reason of a wait.
  let progress: Progress

  static let name = "org.freedesktop.secrets"
  private static let own = ["latchkeyd.socket", "latchkeyd.service"]
  private static let root = SystemRoot()
  /// The time in which a program must end or start, in milliseconds.
  private static let timeout = 20_000

  private var agent: SSHAgent { SSHAgent(runtime: runtime) }

  /// A program that owns the name or waits for it.
  struct Holder {
    let connection: String
    let process: Int32
    let program: String
    let provider: Provider?
    /// The unit that started the program, if it is a unit of the provider.
    let unit: String?
    /// Whether the program has ended, and the service manager keeps its connection.
    let hasEnded: Bool

    var isLatchkey: Bool { program == "latchkeyd" }
    var title: String { translated("\(provider?.title ?? program) (process \(process))") }
  }

  init?(runtime: String, home: String, progress: Progress) {
    guard let bus = try? BusQuestions(.session) else { return nil }
    (self.runtime, self.home, self.bus, self.progress) = (runtime, home, bus, progress)
  }

  func holders() -> [Holder] {
    (bus.queue(for: Self.name).value ?? []).map { one in
      let process = RunningProcess(one.process, in: Self.root)
      let program = process?.name ?? translated("a program")
      let provider = Provider.of(process: program)
      let unit = Self.root.lines("/proc/\(one.process)/cgroup").lazy
        .compactMap { $0.split(separator: "/").last.map(String.init) }
        .first { provider?.units.contains($0) == true }
      return Holder(
        connection: one.connection, process: one.process, program: program, provider: provider, unit: unit,
        hasEnded: process == nil && one.process > 0)
    }
  }

  // MARK: Changes

  /// The changes of the session, for a person, as parts of a list.
  func words(_ plan: SwitchPlan) -> [String] {
    switch plan.side {
    case .toLatchkey:
      var lines = holders().filter { !$0.isLatchkey }.map { holder in
        if let reason = whyItStays(holder) { return translated("leave \(holder.title) until you log out: \(reason)") }
        return holder.unit == nil
          ? translated("end \(holder.title), so that it gives the name up")
          : translated("restart the unit of \(holder.title), so that it gives the name up")
      }
      if !holders().contains(where: \.isLatchkey) { lines.append(translated("start latchkeyd, which takes the name")) }
      return lines
    case .back:
      guard holders().contains(where: \.isLatchkey), !plan.changes.isEmpty else { return [] }
      return [
        translated("stop latchkeyd, which seals the vault and ends the items of this session"),
        translated("start the provider that takes the name again"),
      ]
    }
  }

  /// Why a program cannot be ended now; nil if it can.
  private func whyItStays(_ holder: Holder) -> String? {
    guard let provider = holder.provider else {
      return translated("latchkey does not know this program. Turn its Secret Service off, and end it")
    }
    guard provider.id == "gnome-keyring" else { return nil }
    return agent.whyItStays(root: Self.root, home: home)
  }

  /// Makes all other programs leave the name, and Latchkey take it.
  ///
  /// - Returns: the steps that are left to the person.
  func takeOver() -> [String] {
    reloadManager()
    reloadBus()
    var left: [String] = []
    // The parts of gnome-keyring that ran. The ones that have nothing to do with secrets are started again.
    let hadAgent = agent.isRunning
    let hadModules = access("\(runtime)/keyring/pkcs11", F_OK) == 0
    var seen: Set<String> = []
    var ended: [EndedKeyring] = []
    for holder in holders() where !holder.isLatchkey {
      seen.insert(holder.connection)
      if let reason = whyItStays(holder) {
        left.append(translated("\(holder.title) still has the name or waits for it: \(reason). Log out and in again."))
      } else if let keyring = end(holder) {
        ended.append(keyring)
      }
    }
    // While nobody owns the name, the bus may start another program for it.
    startLatchkey()
    exchangeKWallet()
    // This step comes after the last keyring has ended. Earlier, it would wait for the end of a new keyring's agent.
    if !ended.isEmpty { startOtherParts(of: ended, hadAgent: hadAgent, hadModules: hadModules) }
    guard left.isEmpty else { return left }
    let isDone = waitUntil(translated("Waiting until latchkeyd has the name...")) {
      // A gnome-keyring that was started meanwhile.
      if let holder = holders().first(where: { !$0.isLatchkey && $0.provider != nil && !seen.contains($0.connection) }),
        whyItStays(holder) == nil
      {
        seen.insert(holder.connection)
        _ = end(holder)
        startLatchkey()
      }
      return holders().allSatisfy(\.isLatchkey) && !holders().isEmpty
    }
    if isDone { return [] }
    let others = holders().filter { !$0.isLatchkey }.map(\.title)
    let list = others.joined(separator: ", ")
    return others.isEmpty
      ? [translated("latchkeyd does not have the name yet. 'latchkey doctor' says why.")]
      : [translated("\(list) did not give the name up. Log out and in again; Latchkey has the name then.")]
  }

  /// A gnome-keyring that has left the name.
  private struct EndedKeyring {
    /// The keyring's process, if no unit starts the keyring again.
    let process: LatchkeyPosix.RunningProcess?
    let hasUnit: Bool
  }

  /// Makes a program leave the name.
  ///
  /// - Returns: the gnome-keyring that left the name; nil for other programs, and if it stayed.
  private func end(_ holder: Holder) -> EndedKeyring? {
    let process = holder.unit == nil ? RunningProcess(pid: holder.process) : nil
    let step = translated("Ending \(holder.title)...")
    progress.show(step)
    if let unit = holder.unit {
      manage(isMasked(unit) ? "StopUnit" : "RestartUnit", unit)
    } else if let ending = holder.provider?.ending {
      try? bus.call(ending.path, ending.interface, ending.member, of: holder.connection) { _ in }
    } else {
      kill(holder.process, SIGTERM)
    }
    let isGone = waitUntil(step) { !holders().contains { $0.connection == holder.connection } }
    guard isGone, holder.provider?.id == "gnome-keyring" else { return nil }
    return EndedKeyring(process: process, hasUnit: holder.unit != nil)
  }

  private func startOtherParts(of ended: [EndedKeyring], hadAgent: Bool, hadModules: Bool) {
    let needsModules = hadModules && ended.contains { !$0.hasUnit }
    let parts = (hadAgent ? ["ssh"] : []) + (needsModules ? ["pkcs11"] : [])
    guard !parts.isEmpty else { return }
    let step = translated("Starting gnome-keyring again...")
    // A successor of the keyring would find the sockets in use, or the ending program would remove them. gnome-keyring 42 then
    // loops without end.
    _ = waitUntil(step) { ended.allSatisfy { $0.process?.hasEnded != false } }
    if hadAgent {
      agent.endInner()
      if waitUntil(step, { agent.hasEnded }) { agent.removeLeftover() }
    }
    startKeyring(parts)
  }

  private func isMasked(_ unit: String) -> Bool { UnitFiles(root: Self.root, home: home).mask(unit) != nil }

  private func startKeyring(_ parts: [String]) {
    let step = translated("Starting gnome-keyring again...")
    progress.show(step)
    let command = "exec gnome-keyring-daemon --start --components=\(parts.joined(separator: ",")) >/dev/null 2>&1"
    guard let child = try? ChildProcess("/bin/sh", ["-c", command]) else { return }
    var item = pollfd(fd: child.descriptor, events: Int16(POLLIN), revents: 0)
    poll(&item, 1, Int32(Self.timeout))
    child.reap()
    if parts.contains("ssh") { _ = waitUntil(step) { agent.isRunning } }
  }

  func startLatchkey() {
    for unit in Self.own { manage("StartUnit", unit) }
  }

  /// Stops Latchkey before its units are masked, because a masked unit no longer knows its own stop commands.
  func stopLatchkey() {
    let step = translated("Stopping latchkeyd...")
    progress.show(step)
    for unit in Self.own { manage("StopUnit", unit) }
    // The service manager closes the connection that it kept for the next daemon a moment after this daemon has ended.
    _ = waitUntil(step) { !holders().contains { $0.isLatchkey || $0.hasEnded } }
  }

  /// Makes another provider take the name again.
  ///
  /// - Returns: the steps that are left to the person.
  func handBack(former: [Provider]) -> [String] {
    reloadManager()
    stopLatchkey()
    reloadBus()
    for provider in former {
      for unit in provider.units where UnitFiles(root: Self.root, home: home).path(unit) != nil {
        manage("StartUnit", unit)
      }
      // The program runs without its interface for secrets, and reads its settings when it starts.
      for process in provider.processes where provider.ending != nil { restart(process, of: provider) }
    }
    // A running daemon starts its part for secrets again, and keeps its other parts.
    if holders().isEmpty, former.contains(where: { $0.id == "gnome-keyring" }) { startKeyring(["secrets"]) }
    if holders().isEmpty { activate(Self.name) }
    // Only the person starts KeePassXC, because the person has to open the database anyway.
    if holders().isEmpty, !former.isEmpty, former.allSatisfy({ $0.id == "keepassxc" }) {
      return [
        translated("KeePassXC offers secrets from its next start on. If it runs, end it; then start KeePassXC again.")
      ]
    }
    let step = translated("Waiting until the former program has the name...")
    if waitUntil(step, { holders().first.map { !$0.isLatchkey } == true }) { return [] }
    return [
      translated(
        "no program has the name yet. Log out and in again, or start the program that kept your secrets before.")
    ]
  }

  private func restart(_ program: String, of provider: Provider) {
    let name = program.hasPrefix("kwalletd") ? "org.kde.\(program)" : "org.kde.secretservicecompat"
    guard provider.id == "kwallet", bus.names().value?.contains(name) == true else { return }
    if let holder = bus.queue(for: name).value?.first, let ending = provider.ending {
      try? bus.call(ending.path, ending.interface, ending.member, of: holder.connection) { _ in }
      _ = waitUntil(translated("Ending \(provider.title)...")) { bus.queue(for: name).value?.isEmpty == true }
    }
    activate(name)
  }

  /// Ends a KWallet that still answers KDE's programs, if the bus starts latchkey-kwallet for them from now on.
  private func exchangeKWallet() {
    guard let front = KWalletFront(root: Self.root), front.isStarted(home: home) else { return }
    for name in KWalletFront.names {
      for holder in bus.queue(for: name).value ?? [] {
        guard let process = RunningProcess(holder.process, in: Self.root), process.name != KWalletFront.process,
          let provider = Provider.of(process: process.name), let ending = provider.ending
        else { continue }
        try? bus.call(ending.path, ending.interface, ending.member, of: holder.connection) { _ in }
        _ = waitUntil(translated("Ending \(provider.title)...")) {
          RunningProcess(holder.process, in: Self.root) == nil
        }
      }
    }
  }

  /// Ends latchkey-kwallet, so that the next of KDE's programs starts KWallet.
  ///
  /// - Parameter starting: whether KWallet is started at once, in its place.
  func endKWalletFront(starting: Bool) {
    reloadBus()
    let program = "latchkey-kwallet"
    let holders = KWalletFront.names.flatMap { bus.queue(for: $0).value ?? [] }
    for process in Set(holders.map(\.process))
    where RunningProcess(process, in: Self.root)?.name == KWalletFront.process {
      kill(process, SIGTERM)
      _ = waitUntil(translated("Ending \(program)...")) { RunningProcess(process, in: Self.root) == nil }
      // If the bus has no service file for a name, the call is an error and starts nothing.
      if starting { for name in KWalletFront.names { activate(name) } }
    }
  }

  private func activate(_ name: String) {
    try? bus.ask("StartServiceByName") { out in
      out.appendString(name)
      out.appendUInt32(0)
    } read: { _ in
    }
  }

  // MARK: The bus and the user manager

  /// Makes the bus read its service files again. The bus does not watch all of their folders, and keeps a file that it once chose.
  private func reloadBus() { try? bus.ask("ReloadConfig") { _ in } }

  private func reloadManager() {
    try? bus.call("/org/freedesktop/systemd1", "\(BusQuestions.manager).Manager", "Reload") { _ in }
  }

  private func manage(_ member: String, _ unit: String) {
    try? bus.call("/org/freedesktop/systemd1", "\(BusQuestions.manager).Manager", member) { out in
      out.appendString(unit)
      out.appendString("replace")
    } read: { _ in
    }
  }

  private func waitUntil(_ step: String, _ isTrue: () -> Bool) -> Bool {
    let end = LatchkeyPosix.Process.now + Self.timeout
    while !isTrue() {
      progress.show(step)
      if LatchkeyPosix.Process.now >= end { return false }
      usleep(100_000)
    }
    return true
  }
}
