import Glibc
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium

/// A file of another program in locked memory. It is opened for reading only.
struct ForeignFile: ~Copyable {
  let path: String
  let bytes: SecureBytes

  /// The file's name without its last ending.
  static func name(_ path: String) -> String {
    let file = path.split(separator: "/").last.map(String.init) ?? path
    return file.lastIndex(of: ".").map { String(file[..<$0]) } ?? file
  }

  /// The argument that names standard input.
  static let input = "-"

  /// The file at a path, or standard input.
  ///
  /// - Parameter limit: how large the file may be.
  init(orInput path: String, limit: Int = KeyringFile.sizeLimit) throws {
    guard path == Self.input else {
      try self.init(path, limit: limit)
      return
    }
    guard isatty(STDIN_FILENO) != 1 else {
      throw Failure.file(
        translated("standard input is a terminal. Name a file, or send one: gpg -d FILE | latchkey import … -"))
    }
    let input = translated("standard input")
    let tooLarge =
      Self.sentence(about: input, PosixError("read", code: EFBIG), limit) + " " + translated("Nothing was imported.")
    self.init(path: input, bytes: try StandardInput.read(limit: limit, orThrow: .file(tooLarge)))
  }

  private init(path: String, bytes: consuming SecureBytes) {
    self.path = path
    self.bytes = bytes
  }

  /// - Parameter limit: how large the file may be.
  init(_ path: String, limit: Int = KeyringFile.sizeLimit) throws {
    self.path = path
    do {
      let file = try FileDescriptor.open(path, flags: O_RDONLY | O_NONBLOCK | O_NOCTTY)
      let status = try file.status()
      guard status.st_mode & S_IFMT == S_IFREG else { throw PosixError("open", code: EINVAL) }
      guard status.st_size <= limit else { throw PosixError("read", code: EFBIG) }
      var bytes = try SecureBytes(count: Int(status.st_size))
      let count = try file.read(into: bytes.mutableBytes)
      self.bytes = try bytes.prefix(count)
    } catch let error as PosixError {
      throw Failure.file(Self.sentence(about: path, error, limit))
    } catch { throw Failure.file(translated("\(path) cannot be read: there is not enough memory for it.")) }
  }

  private static func sentence(about path: String, _ error: PosixError, _ limit: Int) -> String {
    switch error.code {
    case EINVAL: return translated("\(path) is not a file.")
    case EFBIG: return translated("\(path) is larger than such a file can be (\(limit >> 20) MiB).")
    default:
      let reason = String(cString: strerror(error.code))
      return translated("\(path) cannot be read: \(reason).")
    }
  }
}
