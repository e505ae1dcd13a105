import Glibc

/// The memory that this process could have.
public enum Memory {
  /// The memory of the machine, in bytes.
  public static var total: UInt64 {
    UInt64(max(sysconf(Int32(_SC_PHYS_PAGES)), 0)) * UInt64(max(sysconf(Int32(_SC_PAGESIZE)), 0))
  }

  /// Bytes that are available now: the kernel's estimate, or the rest that the control group allows, whichever is less.
  public static var available: UInt64 {
    min(meminfo("MemAvailable:") ?? total, groupAllowance ?? .max)
  }

  private static func meminfo(_ name: String) -> UInt64? {
    guard let text = text("/proc/meminfo") else { return nil }
    for line in text.split(separator: "\n") where line.hasPrefix(name) {
      let words = line.split(separator: " ")
      if words.count >= 2, let kibibytes = UInt64(words[1]) { return kibibytes * 1024 }
    }
    return nil
  }

  /// The memory, in bytes, that is left by the limits of this process's control group (version 2) and of the groups above.
  private static var groupAllowance: UInt64? {
    guard let line = text("/proc/self/cgroup")?.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else {
      return nil
    }
    var least: UInt64?
    var path = line.dropFirst(3)
    while true {
      let folder = "/sys/fs/cgroup" + path
      if let limit = number(folder + "/memory.max"), let used = number(folder + "/memory.current") {
        // The kernel drops file pages that nobody used lately before it refuses memory. So a group that merely read many files
        // is not short of memory.
        let idle = field("inactive_file", of: folder + "/memory.stat") ?? 0
        let held = used > idle ? used - idle : 0
        least = min(least ?? .max, limit > held ? limit - held : 0)
      }
      guard let slash = path.lastIndex(of: "/") else { break }
      path = path[..<slash]
    }
    return least
  }

  private static func field(_ name: String, of path: String) -> UInt64? {
    guard let text = text(path) else { return nil }
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2, words[0] == name { return UInt64(words[1]) }
    }
    return nil
  }

  private static func number(_ path: String) -> UInt64? {
    guard let text = text(path) else { return nil }
    return UInt64(text.prefix(while: { $0.isNumber }))
  }

  private static func text(_ path: String) -> String? {
    guard let file = try? FileDescriptor.open(path, flags: O_RDONLY | O_NONBLOCK),
      let bytes = try? file.readAll(limit: 65536)
    else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }
}
