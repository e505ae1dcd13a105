import Glibc
import LatchkeyPosix
import LatchkeyPrompts

/// The program that wants a signature. All these facts are only hints, because a program of the same user can pretend to be any
/// other program.
struct Asker {
  private static let localTools = ["/usr/bin/ssh-keygen", "/usr/bin/ssh-add"]
  private static let ssh = "/usr/bin/ssh"

  let pid: pid_t

  /// The name of the program, and in parentheses the name of the program that started it.
  var name: String {
    let own = Caller(pid: pid).name
    guard let parent = parent, parent > 1 else { return own }
    let other = Caller(pid: parent).name
    return other.isEmpty || other == own || other == "systemd" ? own : "\(own) (\(other))"
  }

  /// The program's terminal; empty without a terminal.
  var terminal: String { Caller(pid: pid).terminal }

  /// Whether the program is one of OpenSSH's programs that use only this machine's agent and never bind their connection to an ssh
  /// session.
  var isLocalTool: Bool { Self.localTools.contains(where: runs) }

  /// Whether the program is the system's ssh, which binds each connection that it forwards.
  var bindsForwarded: Bool { runs(Self.ssh) }

  /// Whether the program runs the file at this path. The path alone does not tell, because a program in a container may be another
  /// file under the same path.
  private func runs(_ path: String) -> Bool {
    var (own, other) = (stat(), stat())
    guard stat("/proc/\(pid)/exe", &own) == 0, stat(path, &other) == 0 else { return false }
    return own.st_dev == other.st_dev && own.st_ino == other.st_ino
  }

  private var parent: pid_t? {
    guard let file = try? FileDescriptor.open("/proc/\(pid)/stat", flags: O_RDONLY),
      let bytes = try? file.readAll(limit: 4096), let close = bytes.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    let fields = bytes[(close + 1)...].split(separator: UInt8(ascii: " "))
    return fields.count > 1 ? pid_t(String(decoding: fields[1], as: UTF8.self)) : nil
  }
}
