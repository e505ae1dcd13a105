import Glibc
import LatchkeyPosix
import LatchkeyText

/// The file of a PAM service, which is checked before libpam runs.
///
/// If a service has no file, or no line for `auth`, libpam takes the file of the service `other`, which on Debian asks for the
/// login password. The login password would then be accepted instead of a finger or a passphrase.
struct ServiceFile {
  let service: String
  /// The folders that may have the file.
  let folders: [String]

  /// The folders in which libpam looks for service files, in its order. A libpam may be built for other folders as well. A service
  /// whose file is only there is refused.
  private static let usualFolders = ["/etc/pam.d", "/usr/lib/pam.d"]
  private static let sizeLimit = 1 << 20

  /// - Parameter folder: the folder of all service files, instead of the usual folders.
  init(_ service: String, in folder: String?) {
    self.service = service
    folders = folder.map { [$0] } ?? ServiceFile.usualFolders
  }

  /// Why libpam would run another stack than the service's own; nil if it would run its own.
  var complaint: Phrase? {
    for folder in folders {
      guard let content = ServiceFile.read(folder + "/" + service) else { continue }
      let path = "\(folder)/\(service)"
      return ServiceFile.hasAuthentication(content) ? nil : Phrase("\(path) has no line for auth")
    }
    let paths = folders.map { $0 + "/" + service }.joined(separator: " or ")
    return Phrase("there is no file \(paths)")
  }

  /// The file's bytes; nil if libpam would look further.
  private static func read(_ path: String) -> [UInt8]? {
    guard let file = try? FileDescriptor.open(path, flags: O_RDONLY | O_NONBLOCK),
      let kind = try? file.status().st_mode & S_IFMT, kind == S_IFREG
    else { return nil }
    return try? file.readAll(limit: sizeLimit)
  }

  /// Whether a line is for `auth`, or includes another file. An included file is assumed to have such a line.
  private static func hasAuthentication(_ content: [UInt8]) -> Bool {
    content.split(separator: UInt8(ascii: "\n")).contains { line in
      let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
      guard var first = words.first else { return false }
      if first.first == UInt8(ascii: "-") { first = first.dropFirst() }
      let word = String(decoding: first, as: UTF8.self).lowercased()
      return word == "auth" || word == "@include"
    }
  }
}
