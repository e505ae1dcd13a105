import CLatchkeyHelper
import Glibc
import LatchkeyPosix

/// The PAM services whose logins without a password unlock the items that are readable behind the locked screen. The administrator
/// names the services in a file, one name in each line, and # before a comment. Without the file no service counts.
struct AdmittedServices {
  static let path = "/etc/latchkey/services"
  private static let sizeLimit = 65536

  private let names: Set<[UInt8]>

  /// The file exists, but somebody other than root could have written it, or it is not a regular file.
  struct Unbelieved: Error {}

  /// Reads the file at `path`.
  init(path: String) throws(Unbelieved) {
    do throws(PosixError) {
      try AdmittedServices.checkFolder(of: path)
      let file = try FileDescriptor.open(path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      let status = try file.status()
      guard status.st_mode & S_IFMT == S_IFREG, AdmittedServices.isRoots(status) else {
        throw PosixError("open", code: EPERM)
      }
      names = AdmittedServices.names(in: try file.readAll(limit: AdmittedServices.sizeLimit))
    } catch {
      guard error.code == ENOENT else { throw Unbelieved() }
      names = []
    }
  }

  /// A user who may rename files in the folder could replace the list by any file that belongs to root.
  private static func checkFolder(of path: String) throws(PosixError) {
    let name = path[..<(path.lastIndex(of: "/") ?? path.startIndex)]
    let folder = try FileDescriptor.open(name.isEmpty ? "/" : String(name), flags: O_RDONLY | O_DIRECTORY)
    guard isRoots(try folder.status()) else { throw PosixError("folder", code: EPERM) }
  }

  private static func isRoots(_ status: stat) -> Bool { status.st_uid == 0 && status.st_mode & 0o022 == 0 }

  /// The names in the file.
  static func names(in content: [UInt8]) -> Set<[UInt8]> {
    let blanks = Array(" \t\r".utf8)
    var names: Set<[UInt8]> = []
    for line in content.split(separator: UInt8(ascii: "\n")) {
      let name = line.drop { blanks.contains($0) }
      guard let last = name.lastIndex(where: { !blanks.contains($0) }), name.first != UInt8(ascii: "#") else {
        continue
      }
      names.insert(Array(name[...last]))
    }
    return names
  }

  /// Whether a service is on the list. A service that logs nobody in never counts, even if the file names it.
  func contain(_ service: String) -> Bool {
    !helper_excludes_service(service) && names.contains(Array(service.utf8))
  }
}
