import Glibc

extension PeerCredentials {
  /// Whether the kernel holds the process stopped, by a signal or a debugger: a stopped process answers no call. False if that is
  /// unknown, as inside a sandbox.
  public var isStopped: Bool {
    guard let pid, let file = fopen("/proc/\(pid)/stat", "re") else { return false }
    defer { fclose(file) }
    // "PID (NAME) STATE …": a name may have any byte, and is short.
    var line = [UInt8](repeating: 0, count: 128)
    let count = fread(&line, 1, line.count, file)
    guard let end = line.prefix(count).lastIndex(of: UInt8(ascii: ")")), end + 2 < count else { return false }
    return line[end + 2] == UInt8(ascii: "T") || line[end + 2] == UInt8(ascii: "t")
  }
}
