import Glibc
import LatchkeyReasons

/// The rules that are in force: the user's, then those that were installed. The first rule that fits gives the class.
public final class ClassRules {
  /// The answer of the rules for some attributes.
  public struct Decision: Equatable, Sendable {
    /// The rule that fits.
    public let rule: ClassRule
    /// The file that it is in.
    public let path: String
  }

  private var files: [WatchedRules]
  private let warn: (Reason) -> Void

  /// Reads the rules of the user at `user` and the installed ones at `shipped`.
  ///
  /// - Parameters:
  ///   - owner: the user who may own the files, beside root.
  ///   - warn: hears each problem of a file once.
  public init(user: String, shipped: String, owner: uid_t, warn: @escaping (Reason) -> Void) {
    self.warn = warn
    files = [
      WatchedRules(user, owner: owner, mustExist: false), WatchedRules(shipped, owner: owner, mustExist: true),
    ]
    refresh()
  }

  /// Reads the files that changed since they were last read. A file that cannot be read any more changes nothing: its rules
  /// stay as they were.
  public func refresh() {
    for index in files.indices where files[index].refresh() {
      if let problem = files[index].problem { warn(problem) }
    }
  }

  /// The problems of the files.
  public var problems: [Reason] { files.compactMap(\.problem) }

  /// The first rule that fits, by the files as they are now; nil if none fits.
  public func decision(for attributes: [String: String]) -> Decision? {
    refresh()
    return Self.decision(for: attributes, in: files.compactMap(\.file))
  }

  /// The first rule of `files` that fits.
  public static func decision(for attributes: [String: String], in files: [RulesFile]) -> Decision? {
    for file in files {
      if let rule = file.rules.first(where: { $0.fits(attributes) }) { return Decision(rule: rule, path: file.path) }
    }
    return nil
  }
}
