import CLatchkeyLinux
import Glibc
import LatchkeyPosix
import LatchkeyText

/// The files of a system, below `/` or below another folder for tests. Links do not lead out of that folder.
public struct SystemRoot: Sendable {
  /// The kind of file at a path.
  package enum Content: Equatable {
    case text(String)
    case absent
    case unreadable
  }

  package let folder: String
  /// Texts that a fix would write. They are read instead of the real files.
  private var changed: [String: String] = [:]

  package static let sizeLimit = 1 << 16

  /// The system whose `/` is `folder`.
  public init(_ folder: String = "/") { self.folder = folder }

  /// The same system, with another text in a file.
  package func changing(_ path: String, to text: String) -> SystemRoot {
    var other = self
    other.changed[path] = text
    return other
  }

  private func open(_ path: String, flags: Int32) throws(PosixError) -> FileDescriptor {
    if folder == "/" { return try FileDescriptor.open(path, flags: flags) }
    let top = try FileDescriptor.open(folder, flags: linux_open_path | O_DIRECTORY)
    let number = linux_open_in_root(top.number, path, flags | O_CLOEXEC)
    guard number >= 0 else { throw PosixError("open") }
    return FileDescriptor(owning: number)
  }

  /// The first bytes of a file; nil if they cannot be read.
  func bytes(_ path: String, count: Int) -> [UInt8]? {
    guard let file = try? open(path, flags: O_RDONLY | O_NONBLOCK),
      let status = try? file.status(), status.st_mode & S_IFMT == S_IFREG
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: count)
    guard let filled = try? file.read(into: &bytes) else { return nil }
    return Array(bytes.prefix(filled))
  }

  /// The text of a file of at most `limit` bytes.
  package func content(_ path: String, limit: Int = sizeLimit) -> Content {
    if let text = changed[path] { return .text(text) }
    do {
      let file = try open(path, flags: O_RDONLY | O_NONBLOCK)
      guard try file.status().st_mode & S_IFMT == S_IFREG else { return .absent }
      return .text(String(decoding: try file.readAll(limit: limit), as: UTF8.self))
    } catch {
      return error.code == ENOENT || error.code == ENOTDIR || error.code == ELOOP ? .absent : .unreadable
    }
  }

  /// A file's lines; no lines if it cannot be read.
  package func lines(_ path: String) -> [Substring] {
    guard case .text(let text) = content(path) else { return [] }
    return text.split(separator: "\n")
  }

  /// Whether the path exists. Links are followed.
  package func contains(_ path: String) -> Bool { changed[path] != nil || status(path) != nil }

  /// The file's status, with links followed; nil if the file is missing or inaccessible.
  func status(_ path: String) -> stat? {
    guard let file = try? open(path, flags: linux_open_path) else { return nil }
    return try? file.status()
  }

  /// The status of the path itself, without following a link; nil if it is missing or inaccessible.
  func ownStatus(_ path: String) -> stat? {
    guard let file = try? open(path, flags: linux_open_path | O_NOFOLLOW) else { return nil }
    return try? file.status()
  }

  /// A free path: `path`, or `path` with a number.
  func freeName(_ path: String) -> String {
    var (free, number) = (path, 1)
    while ownStatus(free) != nil {
      number += 1
      free = "\(path).\(number)"
    }
    return free
  }

  /// The free bytes for a user in the file system of a path; nil if the path is missing or inaccessible.
  func freeSpace(_ path: String) -> Int? {
    guard let file = try? open(path, flags: linux_open_path) else { return nil }
    return file.freeSpace
  }

  /// Whether the file system of a path is mounted read-only; false if the path is missing or inaccessible.
  func isReadOnly(_ path: String) -> Bool {
    guard let file = try? open(path, flags: linux_open_path) else { return false }
    return file.isOnReadOnlyDisk
  }

  /// The target of a link; nil for anything else.
  package func link(_ path: String) -> String? {
    guard let file = try? open(path, flags: linux_open_path | O_NOFOLLOW) else { return nil }
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = readlinkat(file.number, "", &buffer, buffer.count)
    return count > 0 ? String(decoding: buffer.prefix(count), as: UTF8.self) : nil
  }

  /// The names in a folder, sorted; no names if it cannot be read.
  package func names(in path: String) -> [String] {
    let names = try? open(path, flags: O_RDONLY | O_DIRECTORY).names()
    return names?.sorted() ?? []
  }

  /// The folders that can have PAM's modules, for this kind of machine and others.
  var moduleFolders: [String] {
    let triples = names(in: "/usr/lib").filter { $0.contains(text: "-linux-") }
    return triples.flatMap { ["/usr/lib/\($0)/security", "/lib/\($0)/security"] }
      + ["/usr/lib64/security", "/lib64/security", "/usr/lib/security", "/lib/security"]
  }
}
