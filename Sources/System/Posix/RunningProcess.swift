import CLatchkeyLinux
import Glibc

/// Another process. It is held, so that no later process can be taken for it.
public final class RunningProcess {
  private let descriptor: FileDescriptor

  /// nil if there is no such process.
  public init?(pid: pid_t) {
    let number = linux_pidfd_open(pid)
    guard number >= 0 else { return nil }
    descriptor = FileDescriptor(owning: number)
  }

  /// Whether the process has ended, even if its parent has not collected it.
  public var hasEnded: Bool {
    var item = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
    return poll(&item, 1, 0) > 0
  }
}
