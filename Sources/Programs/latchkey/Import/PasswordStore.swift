import Glibc
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeyPosix

/// The files of a password store of pass. Links to folders are followed, as pass follows them.
struct PasswordStore {
  /// A file or folder that is not imported.
  struct Unread {
    let name: String
    let reason: String
  }

  private let folder: String
  /// The entries, without the ending of their files.
  private(set) var entries: [String] = []
  /// Files and folders that cannot be read, and may be entries or contain some.
  private(set) var unread: [Unread] = []
  /// Files that are not entries, and do not belong to pass or Git.
  private(set) var others: [String] = []
  /// Links to other folders.
  private(set) var links: [String] = []
  /// Links to a folder that contains the link. The folder's entries come under the folder's own name.
  private(set) var loops: [String] = []
  private var count = 0

  private static let ending = ".gpg"
  private static let own: Set = [".gpg-id", ".gpg-id.sig", ".gitattributes", ".gitignore", ".gitmodules"]
  private static let depthLimit = 64
  /// The most files and folders of a store. Links can make many folders out of a few.
  private static let countLimit = 100_000

  /// The identity of a folder, which is the same for every link to the folder.
  private struct FolderIdentity: Hashable {
    let device: dev_t
    let number: ino_t

    init(_ status: stat) { (device, number) = (status.st_dev, status.st_ino) }
  }

  /// Searches the store.
  ///
  /// - Throws: a failure if the folder cannot be read, or has more entries than a vault accepts.
  init(_ folder: String) throws {
    self.folder = folder
    var status = stat()
    guard stat(folder, &status) == 0, let names = try? ForeignFiles.names(in: folder) else {
      throw Failure.file(translated("\(folder) cannot be read, so nothing was imported."))
    }
    try look(at: names, in: "", within: [FolderIdentity(status)])
    entries.sort()
  }

  func path(_ name: String) -> String { "\(folder)/\(name)" }
  func path(ofEntry name: String) -> String { path(name + Self.ending) }

  private mutating func look(at names: [String], in place: String, within outer: [FolderIdentity]) throws {
    for name in names.sorted() where name != ".git" && !(place.isEmpty && name == ".extensions") {
      count += 1
      guard count <= Self.countLimit else {
        throw Failure.file(translated("\(folder) has more files than a vault takes, so nothing was imported."))
      }
      try look(at: place + name, called: name, within: outer)
    }
  }

  private mutating func look(at path: String, called name: String, within outer: [FolderIdentity]) throws {
    var status = stat()
    guard stat(self.path(path), &status) == 0 else {
      let code = errno
      // Such a link may have led to another store, on a disk that is missing now.
      return leave(path, String(cString: strerror(code)))
    }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: try enter(path, status, within: outer)
    case S_IFREG:
      if name.hasSuffix(Self.ending), name.utf8.count > Self.ending.utf8.count {
        entries.append(String(path.dropLast(Self.ending.count)))
      } else if !Self.own.contains(name) {
        others.append(path)
      }
    default: leave(path, translated("it is not a file"))
    }
  }

  private mutating func enter(_ path: String, _ status: stat, within outer: [FolderIdentity]) throws {
    var link = stat()
    let isLink = lstat(self.path(path), &link) == 0 && link.st_mode & S_IFMT == S_IFLNK
    let place = FolderIdentity(status)
    guard !outer.contains(place) else { return loops.append(path) }
    guard outer.count < Self.depthLimit else { return leave(path, translated("it is in too many folders")) }
    let names: [String]
    do throws(PosixError) { names = try ForeignFiles.names(in: self.path(path)) } catch {
      return leave(path, String(cString: strerror(error.code)))
    }
    if isLink { links.append(path) }
    try look(at: names, in: path + "/", within: outer + [place])
  }

  private mutating func leave(_ path: String, _ reason: String) { unread.append(Unread(name: path, reason: reason)) }
}
