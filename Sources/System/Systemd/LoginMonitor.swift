import CLatchkeySystemd

/// Watches the files that logind keeps about its sessions (sd-login's monitor, an inotify watch). It reports changes for which
/// logind sends no signal, such as a session that begins to close.
public final class LoginMonitor {
  /// The files to watch, by their category in libsystemd.
  public enum Files: String, Sendable {
    /// A file for each session.
    case sessions = "session"
    /// A file for each user, which logind writes after the files of the user's sessions.
    case users = "uid"
  }

  private let monitor: OpaquePointer
  private var source: EventSource?

  /// Calls `handler` after any of the files changed; many changes may make one call. Throws if logind keeps no files.
  public init(of files: Files = .sessions, loop: EventLoop, handler: @escaping () -> Void) throws(SystemdError) {
    var monitor: OpaquePointer?
    try SystemdError.check(sd_login_monitor_new(files.rawValue, &monitor), "watch login sessions")
    guard let monitor else { throw SystemdError(errno: 12, operation: "watch login sessions") }
    self.monitor = monitor
    source = nil
    let fd = try SystemdError.check(sd_login_monitor_get_fd(monitor), "watch login sessions")
    source = try loop.addIO(fd: fd, events: .readable) { _ in
      sd_login_monitor_flush(monitor)
      handler()
    }
  }

  deinit {
    // The loop must drop the descriptor before the monitor closes it.
    source = nil
    sd_login_monitor_unref(monitor)
  }
}
