import CLatchkeySystemd
import Glibc

/// A login session, from logind's files under /run/systemd. The files may be older than logind's present state, so do not use this
/// type for facts that change quickly.
public struct LoginSession: Equatable, Sendable {
  /// logind's name of the session, such as `3` or `c1`.
  public let id: String

  /// The session of that name, whether or not it exists.
  public init(id: String) { self.id = id }

  /// The session of a process; nil if the process is in no session (a system service, a unit of the user manager).
  public static func ofProcess(_ pid: Int32) -> LoginSession? {
    text { sd_pid_get_session(pid, $0) }.map { LoginSession(id: $0) }
  }

  /// The user whose session or user manager a process runs under; nil for system services. The process may run as another user.
  public static func ownerOfProcess(_ pid: Int32) -> UInt32? {
    var uid: uid_t = 0
    return sd_pid_get_owner_uid(pid, &uid) >= 0 ? uid : nil
  }

  /// The user that the parent of a process runs as; nil if that is unknown.
  public static func parentUID(ofProcess pid: Int32) -> UInt32? {
    // Behind the name, which is in parentheses and may hold anything: state, parent (proc(5)).
    guard let stat = contents("/proc/\(pid)/stat"), let end = stat.lastIndex(of: ")"),
      let parent = stat[end...].split(separator: " ").dropFirst(2).first.flatMap({ Int32($0) }), parent > 0,
      let status = contents("/proc/\(parent)/status")
    else { return nil }
    for line in status.split(separator: "\n") where line.hasPrefix("Uid:") {
      // Real, effective, saved, file system.
      let uids = line.split(whereSeparator: { $0 == "\t" || $0 == " " }).dropFirst()
      return uids.dropFirst().first.flatMap { UInt32($0) }
    }
    return nil
  }

  private static func contents(_ path: String) -> String? {
    guard let file = fopen(path, "re") else { return nil }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 8192)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  /// Whether a user has the session in front of a seat of this machine. Another session of the user's is not enough. A session
  /// that has ended is not enough either: it keeps its seat while one of its processes runs.
  public static func isAtSeat(_ user: UInt32) -> Bool {
    var list: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    guard sd_uid_get_sessions(user, 1, &list) > 0, let names = list else { return false }
    defer { free(names) }
    var isThere = false
    var next = names
    while let name = next.pointee {
      let session = LoginSession(id: String(cString: name))
      isThere = isThere || session.seat != nil && !session.isRemote && session.state != "closing"
      free(name)
      next += 1
    }
    return isThere
  }

  /// Whether the terminal of a process is at another machine, as for a login by ssh. If the process is in no session, like a
  /// program of a desktop or of tmux, the user's desktop counts, and it must be at a seat. Without logind, nobody is away.
  public static func isAway(process pid: Int32, of user: UInt32) -> Bool {
    guard isLogindRunning else { return false }
    if let session = ofProcess(pid) { return session.isRemote || session.seat == nil || session.state == "closing" }
    guard let desktop = text({ sd_uid_get_display(user, $0) }).map({ LoginSession(id: $0) }) else { return true }
    return desktop.isRemote || desktop.seat == nil || desktop.type == "tty"
  }

  /// Whether logind runs, judged by logind's folder.
  public static var isLogindRunning: Bool { access("/run/systemd/seats/", F_OK) >= 0 }

  /// `user`, `greeter`, `lock-screen`, `background`, `manager` …; nil after the session has ended.
  public var sessionClass: String? { Self.text { sd_session_get_class(id, $0) } }

  /// `x11`, `wayland`, `mir`, `tty`, `web`, `unspecified`.
  public var type: String? { Self.text { sd_session_get_type(id, $0) } }

  /// `opening`, `online`, `active`, `closing`; nil once the session is gone.
  public var state: String? { Self.text { sd_session_get_state(id, $0) } }

  /// `seat0`, for example; nil for a session without a seat.
  public var seat: String? { Self.text { sd_session_get_seat(id, $0) } }

  /// The session's user.
  public var uid: UInt32? {
    var uid: uid_t = 0
    return sd_session_get_uid(id, &uid) >= 0 ? uid : nil
  }

  /// Whether the session came over the network.
  public var isRemote: Bool { sd_session_is_remote(id) > 0 }

  private static func text(_ get: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard get(&text) >= 0, let text else { return nil }
    defer { free(text) }
    return String(cString: text)
  }
}
