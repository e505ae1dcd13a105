import Glibc
import LatchkeyPosix
import LatchkeyPrompts

/// The program that wants a signature. All of it is a hint: a program of the same user can run as any other.
struct Asker {
  private static let programs = ["/usr/bin/ssh-keygen", "/usr/bin/ssh-add"]

  let pid: pid_t

  /// The names of the program and of the one that started it.
  var name: String {
    let own = Caller(pid: pid).name
    guard let parent = parent, parent > 1 else { return own }
    let other = Caller(pid: parent).name
    return other.isEmpty || other == own || other == "systemd" ? own : "\(own) < \(other)"
  }

  /// Its terminal; empty for none.
  var terminal: String { Caller(pid: pid).terminal }

  /// Whether it is one of OpenSSH's programs that use the agent of this machine only and bind it to no session of ssh.
  var isLocalTool: Bool {
    var buffer = [UInt8](repeating: 0, count: 256)
    let count = readlink("/proc/\(pid)/exe", &buffer, buffer.count)
    return count > 0 && Self.programs.contains(String(decoding: buffer.prefix(count), as: UTF8.self))
  }

  private var parent: pid_t? {
    guard let file = try? FileDescriptor.open("/proc/\(pid)/stat", flags: O_RDONLY),
      let bytes = try? file.readAll(limit: 4096), let close = bytes.lastIndex(of: UInt8(ascii: ")"))
    else { return nil }
    let fields = bytes[(close + 1)...].split(separator: UInt8(ascii: " "))
    return fields.count > 1 ? pid_t(String(decoding: fields[1], as: UTF8.self)) : nil
  }
}
