import LatchkeySystemd

/// The place of a process according to logind. The uid does not show it, because a helper that brings keys runs as the user, even
/// if root started it.
public enum PeerProcess: Equatable, Sendable {
  /// No logind knows the process.
  case unknown
  /// The process is in no session and under no user's manager: a system service. Examples are display managers, getty and sshd, and
  /// the logins that they handle until the session begins.
  ///
  /// `startedByRoot`: whether root runs the program that started the process. Root runs a display manager, but not a user's job
  /// that authenticates.
  case systemService(startedByRoot: Bool)
  /// The process is in a unit of a user's manager, in which desktops start their shells and lockers. Such a unit is in no session.
  case userManager(uid: UInt32)
  /// The process is in the login session that has this name at logind.
  case session(id: String = "", uid: UInt32, sessionClass: String, type: String, isRemote: Bool)

  /// Whether the process is in one of the user's sessions that count, or in a session that has ended.
  func mayBeInSession(of user: UInt32) -> Bool {
    guard case .session(_, user, let sessionClass, _, _) = self else { return false }
    return sessionClass.hasPrefix("user")
  }

  /// Reads the place from the control groups and logind's files, without asking anybody. The process must be alive. Otherwise its
  /// id may belong to another process by now.
  public static func of(pid: Int32) -> PeerProcess {
    guard LoginSession.isLogindRunning else { return .unknown }
    if let session = LoginSession.ofProcess(pid), let uid = session.uid, let sessionClass = session.sessionClass {
      return .session(
        id: session.id, uid: uid, sessionClass: sessionClass, type: session.type ?? "unspecified",
        isRemote: session.isRemote)
    }
    if let uid = LoginSession.ownerOfProcess(pid) { return .userManager(uid: uid) }
    return .systemService(startedByRoot: LoginSession.parentUID(ofProcess: pid) == 0)
  }
}
