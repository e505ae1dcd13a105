// ProviderSwitch: other programs step aside as keepers of secrets, and come back.
//
// `latchkey switch` makes Latchkey the only provider of secrets, for one person or for all users.
// `latchkey switch --back` hands back. ``ProviderSwitch`` makes a plan and performs it. ``SwitchScope``
// says which files may be changed, and `WantedChanges` finds the changes by looking at the disk alone.
//
//     let change = ProviderSwitch(root: root, person: person)
//     let plan = try change.plan(side)
//     try change.alone { try change.perform(plan) }
//
// A ``FileChange`` is of one of three kinds: a file, a link to `/dev/null`, or lines in a settings
// file. `Switcher` writes a record of what was there before, and then makes each change by a rename.
//
// The module promises that every change can be put back. After a kill each file is as before or as
// afterwards, the record covers it, and either direction can be run. A second run finds nothing to do.
// A file that somebody else changed meanwhile stays as it is. As root, every folder above a file must
// be root's own and closed to others, so nobody can turn a path elsewhere.
//
// The scope `lockers` has another purpose, with the same record and way back: the PAM line by which a finger at the lock screen
// opens the vault. See `WantedChanges+Finger.swift`.
//
// It does not touch secrets, keyrings or wallets of other programs. It does not end a running provider: the command asks it to end
// afterwards, and never by SIGKILL. It does not remove packages. A user's own settings stay in force if they are stronger than the
// machine's, and the plan names such settings.

import Glibc
import LatchkeyDoctor
import LatchkeyPosix

/// Makes Latchkey the only provider of secrets for one person or for all users, or hands back to the former provider. Each file
/// that it changes can be put back as it was.
public struct ProviderSwitch {
  /// The person who runs it, the scope, and the settings of the person's session.
  public struct Person: Sendable {
    /// The user's number.
    public let uid: UInt32
    /// The users whose providers are switched.
    public let scope: SwitchScope
    /// The folders that are searched for programs.
    public var searchPath = ["/usr/local/bin", "/usr/bin", "/bin"]
    /// XDG_CONFIG_HOME; nil if it is not set.
    public var configHome: String?
    /// Whether the person chose another backend of the Secret portal, and it stays.
    public var keepsPortal = false
    /// Whether Latchkey's ssh agent should be the session's.
    public var takesAgent = false

    /// A person without any other known fact.
    public init(uid: UInt32, scope: SwitchScope) { (self.uid, self.scope) = (uid, scope) }
  }

  let root: SystemRoot
  let person: Person
  var files: OwnedFiles

  /// - Parameter root: the system whose files are looked at and changed.
  public init(root: SystemRoot, person: Person) {
    self.root = root
    self.person = person
    files = OwnedFiles(
      top: root.folder == "/" ? "" : root.folder, owner: person.uid, areForAll: person.scope.home == nil)
  }

  /// Runs `body` while no other run of a switch changes the same files.
  public func alone(_ body: () throws(SwitchError) -> Void) throws(SwitchError) {
    let lock: FileDescriptor?
    do throws(PosixError) { lock = try files.lock(folder: person.scope.lockFolder) } catch {
      throw error.code == EWOULDBLOCK ? .busy : .file(person.scope.lockFolder, error)
    }
    try body()
    _ = consume lock
  }

  private var switcher: Switcher { Switcher(files: files, scope: person.scope) }

  /// The plan of a switch. Changes nothing.
  public func plan(_ side: FileChange.Side) throws(SwitchError) -> SwitchPlan {
    let putBack = try switcher.toPutBack(side)
    var wanted = WantedChanges(root: root, person: person, files: files)
    wanted.returning = Set(putBack.filter { !$0.isLeft }.map(\.change.path))
    let hasRecord = try !SwitchRecord.read(files, person.scope).isEmpty
    switch side {
    case .toLatchkey where person.scope == .lockers: wanted.addFingerLines()
    case .toLatchkey: wanted.takeOver()
    case .back where person.scope == .lockers: break
    case .back: wanted.stepAside(isTakenOver: hasRecord)
    }
    return SwitchPlan(
      side: side, changes: wanted.changes, puttingBack: putBack.filter { !$0.isLeft }.map(\.change),
      left: putBack.filter(\.isLeft).map(\.change), obstacles: wanted.obstacles, notes: wanted.notes)
  }

  /// The other providers that are set up to keep secrets.
  package var formerProviders: [Provider] {
    guard let home = person.scope.home else { return [] }
    return Provider.all.filter { provider in
      provider.isInstalled(root, searchPath: person.searchPath)
        && !provider.enabling(root, home: home, searchPath: person.searchPath).isEmpty
    }
  }

  /// Carries out the part of a plan about files.
  ///
  /// - Returns: the changes that were not put back, because somebody changed the file meanwhile.
  public func perform(_ plan: SwitchPlan) throws(SwitchError) -> [FileChange] {
    try switcher.run(plan.side, plan.changes)
  }
}

/// The plan of a switch, before it is carried out.
public struct SwitchPlan: Sendable {
  /// The direction.
  public let side: FileChange.Side
  /// The files that the switch changes.
  public let changes: [FileChange]
  /// The files to put back: a switch in the other direction changed them.
  public let puttingBack: [FileChange]
  /// The files that somebody changed meanwhile. They are not overwritten.
  public let left: [FileChange]
  /// The obstacles to the switch.
  public let obstacles: [String]
  /// Notices for the person.
  public let notes: [String]
}
