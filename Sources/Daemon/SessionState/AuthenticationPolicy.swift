import CLatchkeyHelper
import LatchkeyControl
import LatchkeyReasons

/// Decides which authentication may bring keys, and which may lift a lock with them. Without these rules sudo or ssh would lift a
/// lock, because they use common-auth too.
public enum AuthenticationPolicy {
  /// The answer before any key is derived.
  public enum Decision: Equatable, Sendable {
    case nothing
    /// The daemon wants the keys. `SessionMachine.keysArrived` gets `mayLift` with the keys.
    case keys(mayLift: Bool)
    /// The reason, for the log.
    case refused(Reason)
  }

  /// Services that are remote even if they do not set PAM_RHOST.
  static let remoteServices: Set<String> = [
    "sshd", "remote", "rlogin", "rsh", "xrdp-sesman", "cockpit", "vsftpd", "proftpd", "samba", "dovecot", "smtp",
    "imap", "pop3", "sieve", "xmpp", "exim", "exim4", "ftp", "ftpd", "pure-ftpd", "cups", "openvpn", "ppp", "radiusd",
    "squid", "webmin", "usermin", "httpd", "apache2", "nginx", "postgresql", "rstudio", "shellinabox",
  ]

  /// The service of the command line's own `unlock`.
  public static let commandService = "latchkey-unlock"

  /// Decides by the rules of this file, and does not change the machine. The terminal that a PAM stack names does not count,
  /// because anybody can set it.
  ///
  /// - Parameters:
  ///   - process: the process that sent the `Hello`.
  ///   - needs: the reasons to want keys even if the session's state needs none.
  public static func decide(
    _ hello: Hello, from process: PeerProcess, machine: SessionMachine, needs: KeyNeeds = KeyNeeds()
  ) -> Decision {
    // These services authenticate a person who is already logged in, or nobody.
    if helper_excludes_service(hello.service) { return .refused(.never(service: hello.service)) }
    if hello.stage == .closeSession { return .nothing }
    let refusal = refusalToLift(hello, from: process, machine: machine)
    switch machine.state {
    case .unlocked:
      return wantsKeys(for: needs, hello, machine: machine) ? .keys(mayLift: false) : .nothing
    // The session is not locked, so the daemon wants keys from the first program that brings the password.
    case .sealed, .locked(.withoutPassword):
      if hello.service == commandService, let refusal { return .refused(refusal) }
      return .keys(mayLift: refusal == nil)
    case .locked:
      // The same login asked before, in the authenticate stage.
      if hello.stage == .openSession {
        return wantsKeys(for: needs, hello, machine: machine) ? .keys(mayLift: false) : .nothing
      }
      if let refusal { return .refused(refusal) }
      return .keys(mayLift: true)
    }
  }

  /// Whether an authentication opens the collections and items that have their own lock. A login opens them, and so does `latchkey
  /// unlock` or a prompt. A screen locker does not.
  public static func liftsOwnLocks(_ hello: Hello) -> Bool {
    hello.stage == .openSession || hello.service == commandService
  }

  /// Whether the daemon wants keys that lift no lock of the session.
  private static func wantsKeys(for needs: KeyNeeds, _ hello: Hello, machine: SessionMachine) -> Bool {
    guard liftsOwnLocks(hello) else { return false }
    if hello.stage == .openSession {
      // With the login's first password all keys change.
      if machine.isPasswordless || needs.hasUnprovenPassword { return true }
    }
    if needs.needsFormerPassword, hello.service == commandService { return true }
    return needs.hasSpareEpoch || needs.hasOwnLocks
  }

  /// Why an authentication may not lift a lock; nil if it may.
  private static func refusalToLift(_ hello: Hello, from process: PeerProcess, machine: SessionMachine) -> Reason? {
    if hello.service == commandService {
      // A person at a terminal named this command, so the terminal may be remote. While a locker is up, the person at the screen
      // may be another than the typing person.
      return machine.lockerUp ? .session(.unlockScreen) : nil
    }
    if remoteServices.contains(hello.service)
      || isFromElsewhere(hello, process, uid: machine.uid) && !isRemoteDesktop(hello, process, machine: machine)
    {
      return .session(.remoteLogin)
    }
    switch process {
    case .unknown, .systemService(startedByRoot: true):
      return nil
    case .systemService(startedByRoot: false):
      return .session(.processOfNoSession)
    case .userManager(let uid):
      // Lockers started by the user's manager belong to the desktop, if there is one. If there are several, nothing shows the right
      // one.
      return uid == machine.uid && machine.hasGraphicalSession ? nil : .session(.notOfSession)
    case .session(_, _, let sessionClass, _, _) where SessionFacts.isGreeter(sessionClass: sessionClass):
      return nil
    case .session(_, let uid, let sessionClass, let type, let isRemote):
      guard uid == machine.uid else { return .session(.otherUsersSession) }
      guard sessionClass.hasPrefix("user") else { return .sessionOfClass(sessionClass) }
      if isRemote, !(SessionFacts.isGraphical(type: type) && !machine.remoteDesktopServices.isEmpty) {
        return .session(.remoteSession)
      }
      return SessionFacts.isGraphical(type: type) || type == "tty"
        ? nil : .sessionOfType(type)
    }
  }

  /// Whether the display manager asks for a desktop that it opened over the network. A person who works there all day has no other
  /// screen to unlock.
  private static func isRemoteDesktop(_ hello: Hello, _ process: PeerProcess, machine: SessionMachine) -> Bool {
    guard machine.remoteDesktopServices.contains(hello.service) else { return false }
    switch process {
    // The session has gdm's worker that opened it, and the worker that checks the password at its locked screen.
    case .session(_, machine.uid, _, let type, true): return SessionFacts.isGraphical(type: type)
    case .systemService(let startedByRoot): return startedByRoot
    case .session, .userManager, .unknown: return false
    }
  }

  /// Whether an authentication names a remote host. A locker of the user's may name this one (xsecurelock does); a service
  /// that serves networks tells by that name only that its client reached it through a tunnel.
  private static func isFromElsewhere(_ hello: Hello, _ process: PeerProcess, uid: UInt32) -> Bool {
    switch process {
    case .session(_, uid, _, _, _), .userManager(uid): !hello.remoteHost.isEmpty && hello.remoteHost != "localhost"
    case .session, .userManager, .systemService, .unknown: !hello.remoteHost.isEmpty
    }
  }
}

/// The needs of a vault for keys that it has already. With such a need, ``AuthenticationPolicy`` wants keys even if they do not
/// change whether the session is locked.
public struct KeyNeeds: Equatable, Sendable {
  /// A password that created the vault is proven only when a second login opens the keybag with it.
  public var hasUnprovenPassword = false
  /// The keybag still has the keys of a key epoch on which nothing depends any more.
  public var hasSpareEpoch = false
  /// The last login's password opens nothing, which the person can fix now.
  public var needsFormerPassword = false
  /// Collections or items have explicit locks.
  public var hasOwnLocks = false

  /// No need.
  public init() {}
}
