import CLinux
import Glibc
import Posix

/// The program that wants something of a person, as far as the kernel tells. A hint for the person, no proof: a program
/// can give itself any name.
public struct Caller: Equatable, Sendable {
  /// The program's name; empty where it is not known.
  public let name: String
  /// The device of its terminal, as "/dev/pts/3"; empty where it has none, or one that is not this user's.
  public let terminal: String
  /// What it gave as its window; may be of any form.
  public var window = ""

  /// Nobody in particular.
  public static let unknown = Caller(name: "", terminal: "")

  private init(name: String, terminal: String) {
    self.name = name
    self.terminal = terminal
  }

  /// A sandboxed application, by its id.
  public init(application: String) { self.init(name: application, terminal: "") }

  /// Reads it from `/proc`. The process may be gone, and its id another's: then the hint is wrong.
  public init(pid: Int32) {
    guard let file = try? FileDescriptor.open("/proc/\(pid)/stat", flags: O_RDONLY),
      let bytes = try? file.readAll(limit: 4096)
    else {
      self = .unknown
      return
    }
    // "pid (name) state ppid pgrp session tty ...": the name may hold anything, also blanks and brackets. By bytes: the
    // end of a name can make one character with the bracket.
    guard let open = bytes.firstIndex(of: UInt8(ascii: "(")), let close = bytes.lastIndex(of: UInt8(ascii: ")")),
      open < close
    else {
      self = .unknown
      return
    }
    let fields = bytes[(close + 1)...].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
    name = String(decoding: bytes[(open + 1)..<close], as: UTF8.self)
    terminal = fields.count > 4 ? Caller.terminal(Int32(fields[4]) ?? 0) : ""
  }

  /// The device file of a terminal's number, if it is this user's.
  private static func terminal(_ number: Int32) -> String {
    let number = UInt32(bitPattern: number)
    let (major, minor) = ((number >> 8) & 0xFFF, (number & 0xFF) | ((number >> 12) & 0xFFF00))
    let path: String
    switch major {
    case 136...143: path = "/dev/pts/\((major - 136) << 20 | minor)"
    case 4 where minor < 64: path = "/dev/tty\(minor)"
    default: return ""
    }
    var file = stat()
    guard lstat(path, &file) == 0, file.st_mode & S_IFMT == S_IFCHR, file.st_uid == getuid() else { return "" }
    return path
  }
}
