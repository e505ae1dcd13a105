import ArgumentParser
import Glibc
import LatchkeyDoctor
import LatchkeyGettext
import LatchkeyPosix
import LatchkeyProviderSwitch

/// `latchkey switch`
struct SwitchCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "switch",
    abstract: translated("Make Latchkey the only program that keeps your secrets, or undo that."),
    discussion: translated(
      """
      With --to latchkey: keeps gnome-keyring, KWallet, KeePassXC, oo7 and pass-secret-service from offering secrets to \
      other programs, and has them leave the session. The rest of what they do goes on, gnome-keyring's ssh agent too, unless \
      you add --ssh-agent. It moves no secret: 'latchkey import' does.

      With --back: puts every file back as it was, byte for byte, and has Latchkey step aside. Your vault stays on the disk. \
      A file that was changed since is not overwritten; you are told what to change in it.

      Both change your own files only, and note in ~/.local/state/latchkey/switch.json what was there before. After an \
      interruption, run either again. Run it as yourself, not with sudo.

      With --all-users and sudo, both do the same for all users of the machine: by files in /etc and /usr/local/share, noted in \
      /etc/latchkey/switch.json. Nothing in home folders is touched, and running sessions go on as they are.

      With --finger and sudo, it leaves all that alone, and adds or removes one line in the PAM files of screen \
      lockers: a finger at \
      the lock screen then opens the vault too. See latchkey-protector(1).

      Exit status: 0 done, or nothing to do; 1 not done, for the reason that is printed; 4 done, but something is left to \
      you.

      Examples:
        latchkey switch --to latchkey --dry-run
        latchkey switch --to latchkey
        latchkey switch --back
        sudo latchkey switch --to latchkey --all-users
        sudo latchkey switch --to latchkey --finger
      """))

  /// The provider that will keep the secrets.
  enum Target: String, ExpressibleByArgument, CaseIterable {
    case latchkey
  }

  @OptionGroup var place: DaemonPlace
  @Option(help: .translated("latchkey: make Latchkey the only one."))
  var to: Target?
  @Flag(help: .translated("Hand back to the program that kept your secrets before."))
  var back = false
  @Flag(help: .translated("Print what would be done, and change nothing."))
  var dryRun = false
  @Flag(help: .translated("Leave the Secret portal of sandboxed applications as it is."))
  var keepPortal = false
  @Flag(
    help: .translated("Keep the ssh agents of gnome-keyring and gcr from starting, too: Latchkey's takes their place."))
  var sshAgent = false
  @Flag(help: .translated("Do it for all users of this machine. Needs root."))
  var allUsers = false
  @Flag(
    help: .translated("Only this: have a finger at the lock screen open the vault too. Needs root."))
  var finger = false
  @Flag(help: .translated("As JSON, with the same keys in every version."))
  var json = false

  @Option(help: .hidden)
  var root = "/"
  @Option(help: .hidden)
  var home: String?

  func validate() throws {
    guard (to == nil) == back else { throw ValidationError(translated("Say either --to latchkey or --back.")) }
    guard !finger || !(allUsers || keepPortal || sshAgent) else {
      throw ValidationError(translated("--finger changes nothing else: leave the other options out."))
    }
  }

  func run() throws {
    try Failure.telling {
      let progress = Progress(isWanted: !json)
      var report = SwitchReport(
        side: back ? .back : .toLatchkey, isForAll: allUsers, isForLockers: finger, isDryRun: dryRun)
      do throws(SwitchError) { try perform(&report, progress) } catch {
        switch error {
        case .busy:
          report.refused.append(
            translated("another 'latchkey switch' is running. Wait until it has ended, then run this again."))
        case .changedMeanwhile(let path):
          report.refused.append(
            translated(
              "another program changed \(path) at the same moment, so it stays as that program left it. Run this again."
            ))
        case .file(let path, let error):
          report.refused.append(
            translated("\(path) cannot be changed: \(error). Run this command again when that is fixed."))
        case .unreadableRecord(let path):
          report.refused.append(
            translated(
              """
              \(path), the record of the former state, cannot be read. It must be a regular file and not a link. Look \
              at it, or restore it.
              """))
        }
      }
      progress.end()
      print(json ? try JSONText.of(report) : report.text)
      if report.status != 0 { throw ExitCode(report.status) }
    }
  }

  private func perform(_ report: inout SwitchReport, _ progress: Progress) throws(SwitchError) {
    guard let scope = scope(&report) else { return }
    let environment = LatchkeyPosix.Process.environment
    var person = ProviderSwitch.Person(uid: getuid(), scope: scope)
    if let path = environment["PATH"] { person.searchPath = path.split(separator: ":").map(String.init) }
    person.configHome = environment["XDG_CONFIG_HOME"].flatMap { $0.isEmpty ? nil : $0 }
    person.keepsPortal = keepPortal
    person.takesAgent = sshAgent
    let change = ProviderSwitch(root: SystemRoot(root), person: person)
    guard !dryRun else { return try perform(change, scope, &report, progress) }
    try change.alone { () throws(SwitchError) in try perform(change, scope, &report, progress) }
  }

  /// A note about gnome-keyring's agent for ssh, which keeps running; empty if there is none.
  private func agentNotes() -> [String] {
    guard
      SystemRoot(root).contains("/etc/xdg/autostart/gnome-keyring-ssh.desktop")
        || !allUsers && SSHAgent(runtime: place.folder).content != .absent
    else { return [] }
    return [
      translated(
        """
        gnome-keyring's ssh agent keeps running. It signs while the vault is locked, and keeps passphrases of ssh \
        keys in a file of its own, ~/.local/share/keyrings/login.keyring.
        """)
    ]
  }

  /// Notes for an administrator whose logins open no vault, as after a pause.
  private func loginNotes() -> [String] {
    let facts = DesktopFacts(uid: getuid(), home: "", runtime: "")
    guard let finding = Doctor(root: SystemRoot(root), facts: facts, program: "/proc/self/exe").loginFinding() else {
      return []
    }
    return [
      translated("A login does not unlock the vault (\(finding.id): \(finding.found)).")
        + (finding.command.map { " " + translated("Run '\($0)'.") } ?? finding.advice.map { " " + $0 } ?? ""),
      translated("Users who changed their password meanwhile are asked once for the former one."),
    ]
  }

  /// Whether this person has no vault yet. A running daemon knows this.
  private func lacksVault(_ home: String) -> Bool {
    if let status = try? place.status() { return place.lacksVault(status) }
    return access("\(home)/.local/share/latchkey/keybag", F_OK) != 0
  }

  /// The users of the switch; nil, with a refusal, if the choice is impossible.
  private func scope(_ report: inout SwitchReport) -> SwitchScope? {
    let command = "latchkey switch \(back ? "--back" : "--to latchkey")"
    if finger {
      guard getuid() == 0 || root != "/" else {
        report.refused.append(translated("only root changes PAM's files. Run: sudo \(command) --finger"))
        return nil
      }
      return .lockers
    }
    if allUsers {
      guard getuid() == 0 || root != "/" else {
        report.refused.append(
          translated("only root can change the settings of all users. Run: sudo \(command) --all-users"))
        return nil
      }
      return .allUsers
    }
    guard getuid() != 0 else {
      report.refused.append(
        translated(
          """
          root keeps no secrets in a desktop session. For yourself, run it without sudo: \(command). For all users of this \
          machine: sudo \(command) --all-users
          """))
      return nil
    }
    guard let home = home ?? Account(uid: getuid())?.home else {
      report.refused.append(translated("you have no account."))
      return nil
    }
    return .person(home: home)
  }

  private func perform(
    _ change: ProviderSwitch, _ scope: SwitchScope, _ report: inout SwitchReport, _ progress: Progress
  ) throws(SwitchError) {
    let plan = try change.plan(report.side)
    // The sessions of all users stay as they are, because programs in them may have unsaved work.
    var session: SwitchSession?
    if case .person(let home) = scope { session = SwitchSession(runtime: place.folder, home: home, progress: progress) }
    report.take(plan, session?.words(plan) ?? [], scope)
    if !back, !finger { report.notes += agentNotes() }
    guard !dryRun, report.refused.isEmpty else { return }
    switch plan.side {
    case .toLatchkey:
      report.isBegun = true
      report.left += SwitchReport.words(left: try change.perform(plan))
      report.left += session?.takeOver() ?? []
    case .back:
      let isSteppingAside = !plan.changes.isEmpty
      if isSteppingAside { session?.stopLatchkey() }
      report.isBegun = true
      do throws(SwitchError) { report.left += SwitchReport.words(left: try change.perform(plan)) } catch {
        // No other program replaces Latchkey.
        if isSteppingAside { session?.startLatchkey() }
        throw error
      }
      if !plan.puttingBack.isEmpty { session?.endKWalletFront(starting: isSteppingAside) }
      if isSteppingAside { report.left += session?.handBack(former: change.formerProviders) ?? [] }
    }
    report.isDone = true
    if allUsers, !back { report.notes += loginNotes() }
    if let home = scope.home { report.lacksVault = lacksVault(home) }
    report.sawSession(session)
  }
}
