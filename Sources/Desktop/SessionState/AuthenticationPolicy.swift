import CLatchkeyHelper
import LatchkeyControl

/// Which authentication may bring keys, and which may lift a lock with them. Without these rules sudo or ssh would
/// lift it, as they pass through common-auth.
public enum AuthenticationPolicy {
  /// What a PAM stack tells of itself.
  public struct Request: Equatable, Sendable {
    /// Which entry point of the module was called.
    public let stage: Hello.Stage
    /// PAM_SERVICE.
    public let service: String
    /// PAM_TTY, or empty. For log lines: anybody can set it.
    public let tty: String
    /// PAM_RHOST, or empty.
    public let rhost: String
    /// The process that brought the request.
    public let peer: PeerProcess

    /// See the members.
    public init(stage: Hello.Stage, service: String, tty: String = "", rhost: String = "", peer: PeerProcess) {
      self.stage = stage
      self.service = service
      self.tty = tty
      self.rhost = rhost
      self.peer = peer
    }
  }

  /// What is answered before any key is derived.
  public enum Decision: Equatable, Sendable {
    case nothing
    /// Keys are wanted; `mayLift` goes to `SessionMachine.keysArrived` with them.
    case keys(mayLift: Bool)
    /// Says why, for the log.
    case refused(String)
  }

  /// Services that are remote even if they do not set PAM_RHOST.
  static let remoteServices: Set<String> = [
    "sshd", "remote", "rlogin", "rsh", "xrdp-sesman", "cockpit", "vsftpd", "proftpd", "samba", "dovecot", "smtp",
    "imap", "pop3", "sieve", "xmpp", "exim", "exim4", "ftp", "ftpd", "pure-ftpd", "cups", "openvpn", "ppp", "radiusd",
    "squid", "webmin", "usermin", "httpd", "apache2", "nginx", "postgresql", "rstudio", "shellinabox",
  ]

  /// The service of the command line's own `unlock`.
  public static let commandService = "latchkey-unlock"

  /// Decides by the rules of this file; the machine is only looked at.
  public static func decide(_ request: Request, machine: SessionMachine) -> Decision {
    // They authenticate a person who is already in, or nobody at all.
    if helper_excludes_service(request.service) { return .refused("\(request.service) never unlocks the vault") }
    if request.stage == .closeSession { return .nothing }
    let refusal = refusalToLift(request, machine: machine)
    switch machine.state {
    case .unlocked:
      return .nothing
    // Nobody locked it: who brings the password is the first one to do so.
    case .sealed, .locked(.withoutPassword):
      if request.service == commandService, let refusal { return .refused(refusal) }
      return .keys(mayLift: refusal == nil)
    case .locked:
      // The same login asked before, in its authenticate stage.
      if request.stage == .openSession { return .nothing }
      if let refusal { return .refused(refusal) }
      return .keys(mayLift: true)
    }
  }

  /// Why a request may not lift a lock; nil if it may.
  private static func refusalToLift(_ request: Request, machine: SessionMachine) -> String? {
    if request.service == commandService {
      // A person at a terminal asked for it by name, so it may be a remote one. With a locker up the person who sits
      // at the screen is not known to be the one who types.
      return machine.lockerUp ? "unlock the screen instead" : nil
    }
    if remoteServices.contains(request.service) || isFromElsewhere(request, uid: machine.uid) {
      return "a remote login does not lift a lock"
    }
    switch request.peer {
    case .unknown, .systemService(startedByRoot: true):
      return nil
    case .systemService(startedByRoot: false):
      return "a process of no session"
    case .userManager(let uid):
      // Lockers started by the user's manager belong to the desktop, if there is one.
      return uid == machine.uid && machine.hasGraphicalSession ? nil : "not a process of a session"
    case .session(_, _, let sessionClass, _, _) where SessionFacts.isGreeter(sessionClass: sessionClass):
      return nil
    case .session(_, let uid, let sessionClass, let type, let isRemote):
      guard uid == machine.uid else { return "a process of another user's session" }
      guard sessionClass.hasPrefix("user") else { return "a process of a session of class \(sessionClass)" }
      if isRemote { return "a remote session does not lift a lock" }
      return SessionFacts.isGraphical(type: type) || type == "tty"
        ? nil : "a process of a session of type \(type)"
    }
  }

  /// Whether a request names a remote host. A locker of the user's may name this one (xsecurelock does); a service that
  /// serves networks tells by that name only that its client reached it through a tunnel.
  private static func isFromElsewhere(_ request: Request, uid: UInt32) -> Bool {
    switch request.peer {
    case .session(_, uid, _, _, _), .userManager(uid): !request.rhost.isEmpty && request.rhost != "localhost"
    case .session, .userManager, .systemService, .unknown: !request.rhost.isEmpty
    }
  }
}
