import Glibc
import LatchkeyPosix

/// The administrator's policy on unlocks by finger: a file with the line `off` forbids them.
struct FingerPolicy {
  /// The path of the file.
  static let path = "/etc/latchkey/finger"
  private static let sizeLimit = 4096

  let file: String

  /// Whether an unlock by finger is forbidden. A file that is unreadable or says neither `on` nor `off` forbids it too, because its
  /// writer probably meant to.
  var isForbidding: Bool {
    do throws(PosixError) {
      let content = try FileDescriptor.open(file, flags: O_RDONLY | O_NONBLOCK).readAll(limit: FingerPolicy.sizeLimit)
      let lines = String(decoding: content, as: UTF8.self).split(separator: "\n").map { line in
        line.prefix { $0 != "#" }.filter { $0 != " " && $0 != "\t" && $0 != "\r" }
      }
      return !lines.allSatisfy { $0.isEmpty || $0 == "on" }
    } catch { return error.code != ENOENT }
  }
}
