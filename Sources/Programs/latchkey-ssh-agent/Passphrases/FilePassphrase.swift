import Glibc
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

/// A key file, and a check of its passphrase by `ssh-keygen`.
struct FilePassphrase {
  /// If this variable is set, this process only passes a passphrase to `ssh-keygen`.
  private static let variable = "LATCHKEY_PASSPHRASE_INPUT"
  /// The longest passphrase, in bytes; OpenSSH has the same limit.
  static let limit = 1024
  /// How long `ssh-keygen` may take, in milliseconds.
  private static let checkLimit: Int32 = 60_000

  /// The file, as an absolute path.
  let path: String

  /// Finds the file in OpenSSH's question for a passphrase; nil for any other question.
  init?(question: String) {
    let beginnings = ["Enter passphrase for key '", "Enter passphrase for ", "Bad passphrase, try again for "]
    guard let beginning = beginnings.first(where: question.hasPrefix) else { return nil }
    var name = question.dropFirst(beginning.count)
    while let last = name.last, last == " " || last == ":" || last == "'" { name.removeLast() }
    let note = " (will confirm each use)"
    if name.hasSuffix(note) { name = name.dropLast(note.count) }
    if name.hasPrefix("/") {
      path = String(name)
    } else {
      guard let folder = getcwd(nil, 0) else { return nil }
      defer { free(folder) }
      path = String(cString: folder) + "/" + name
    }
    // ssh shortens long names, so the file may not be readable under this name.
    guard access(path, R_OK) == 0 else { return nil }
  }

  /// Whether `passphrase` is the file's passphrase. `ssh-keygen` starts this program once more, which gets the passphrase through a
  /// pipe and passes it on.
  ///
  /// - Parameter program: the path of this program, for `SSH_ASKPASS`.
  func isRight(_ passphrase: RawSpan, program: String) -> Bool {
    let variables = ["SSH_ASKPASS": program, "SSH_ASKPASS_REQUIRE": "force", Self.variable: "1"]
    for (name, value) in variables { setenv(name, value, 1) }
    defer { unsetenv(Self.variable) }
    do throws(PosixError) {
      let input = try FileDescriptor.pipeOfOnePage { end throws(PosixError) in
        let count = SystemCall.write(end, passphrase)
        guard count == passphrase.byteCount else { throw PosixError("write") }
      }
      defer { input.erasePipe() }
      // ssh-keygen starts this program as its child, which inherits this standard input.
      let child = try ChildProcess(
        "/bin/sh", ["-c", "exec /usr/bin/ssh-keygen -y -f \"$1\" >/dev/null 2>&1", "sh", path], input: input.number)
      var end = pollfd(fd: child.descriptor, events: Int16(POLLIN), revents: 0)
      let hasEnded = poll(&end, 1, Self.checkLimit) == 1
      if !hasEnded { kill(child.pid, SIGKILL) }
      let status = child.reap()
      return hasEnded && status == 0
    } catch { return false }
  }

  /// Copies standard input to standard output, if `ssh-keygen` started this process for ``isRight(_:program:)``.
  ///
  /// - Returns: the exit status; nil if `ssh-keygen` did not start this process.
  static func handOver() -> Int32? {
    guard getenv(variable) != nil else { return nil }
    guard var bytes = try? SecureBytes(count: limit) else { return 1 }
    let count = SystemCall.read(STDIN_FILENO, into: bytes.mutableBytes)
    guard count >= 0, let passphrase = try? bytes.prefix(count) else { return 1 }
    return put(passphrase.bytes) ? 0 : 1
  }

  /// The number of times, a millisecond apart, that ``put(_:)`` checks whether OpenSSH has read the answer.
  private static let looks = 1000

  /// Writes an answer for OpenSSH into the pipe, and overwrites it there after OpenSSH has read it.
  static func put(_ answer: RawSpan) -> Bool {
    // This opens the reading end too. Otherwise the kernel would free the page, with the answer in it, when OpenSSH closes its end.
    let kept = try? FileDescriptor.open("/proc/self/fd/\(STDOUT_FILENO)", flags: O_RDONLY | O_NONBLOCK)
    guard write(answer) else { return false }
    var status = stat()
    guard let kept, fstat(kept.number, &status) == 0, status.st_mode & S_IFMT == S_IFIFO else { return true }
    for _ in 0..<looks {
      var left: Int32 = 0
      guard ioctl(kept.number, UInt(FIONREAD), &left) == 0 else { break }
      guard left > 0 else {
        // OpenSSH ignores zeros after the end of the line.
        kept.overwritePipe()
        break
      }
      usleep(1000)
    }
    return true
  }

  /// Writes a line to standard output, and closes it.
  private static func write(_ answer: RawSpan) -> Bool {
    let output = FileDescriptor(owning: STDOUT_FILENO)
    return (try? output.writeAll(answer)) != nil && (try? output.writeAll(([0x0a] as [UInt8]).span.bytes)) != nil
  }
}
