import Glibc
import LatchkeyPosix
import LatchkeyYAML

/// The contents of a file of rules.
public struct RulesFile: Equatable, Sendable {
  /// The path of the file.
  public let path: String
  /// The file's rules, in the order in which they are tried.
  public let rules: [ClassRule]

  /// The path of a user's own rules.
  public static func userPath(home: String) -> String { home + "/.config/latchkey/rules.yaml" }

  /// Reads rules from a text that came from `path`.
  public init(path: String, text: [UInt8]) throws(RulesError) {
    self.path = path
    let document: YAMLNode?
    do { document = try YAMLNode.document(text) } catch {
      throw RulesError(path: path, error)
    }
    guard let document else {
      rules = []
      return
    }
    guard case .sequence(let nodes) = document.content else {
      throw RulesError(
        path: path, line: document.line, .rules(.notList))
    }
    var rules: [ClassRule] = []
    for node in nodes { rules.append(try ClassRule(node, path: path)) }
    self.rules = rules
  }

  /// Reads the file at `path`. It must be a regular file that belongs to `owner` or root, and that nobody else can write. A link is
  /// not followed.
  ///
  /// - Returns: nil if the file does not exist.
  public static func load(_ path: String, owner: uid_t) throws(RulesError) -> RulesFile? {
    guard let text = try text(of: path, owner: owner) else { return nil }
    return try RulesFile(path: path, text: text)
  }

  /// The text of a YAML file with settings of the user; see ``load(_:owner:)``.
  public static func text(of path: String, owner: uid_t) throws(RulesError) -> [UInt8]? {
    do {
      let file = try FileDescriptor.open(path, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
      let status = try file.status()
      guard status.st_mode & S_IFMT == S_IFREG else { throw RulesError(path: path, .rules(.notFile)) }
      guard status.st_uid == owner || status.st_uid == 0 else {
        throw RulesError(path: path, .rules(.otherOwner))
      }
      guard !isWritableByOthers(status) else {
        throw RulesError(path: path, .rules(.writableByOthers))
      }
      return try file.readAll(limit: YAMLNode.sizeLimit)
    } catch let error as RulesError {
      throw error
    } catch let error as PosixError {
      switch error.code {
      case ENOENT, ENOTDIR: return nil
      case ELOOP:
        throw RulesError(
          path: path, .rules(.link))
      case EFBIG:
        throw RulesError(path: path, .largerThan(kibibytes: YAMLNode.sizeLimit / 1024))
      default: throw RulesError(path: path, .unreadableFile(error.description))
      }
    } catch { return nil }
  }

  /// Whether other users can write the file. A group with the user's own number does not count, because on many systems only the
  /// user is in it.
  private static func isWritableByOthers(_ status: stat) -> Bool {
    status.st_mode & S_IWOTH != 0 || (status.st_mode & S_IWGRP != 0 && status.st_gid != status.st_uid)
  }
}
