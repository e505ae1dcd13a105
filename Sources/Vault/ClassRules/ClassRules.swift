// ClassRules: which class an item gets by its attributes.
//
// A program that knows nothing of Latchkey stores an item without naming an accessibility class. Rules
// then decide, for example that a network's password can be read behind the locked screen.
// ``ClassRules`` has the rules in force: first the rules of the user's file, and then the installed
// rules. The first rule that fits gives the class.
//
//     let rules = ClassRules(user: path, shipped: installed, owner: uid) { reason in log(reason) }
//     let decision = rules.decision(for: attributes)
//
// ``RulesFile`` is the content of one file, ``ClassRule`` is one rule with its patterns, and ``AttributePattern`` a
// pattern for one value. ``GenericSchema`` is libsecret's schema for items that have none, and the way in which attributes
// match.
//
// The module promises that a file is read again when it changed, and that a file which cannot be read
// changes nothing: the rules that were read last stay in force. A file of another owner, or a file that
// others can write, is refused. An error names the file, the line and the mistake. Each problem is told
// once.
//
// It does not change items that exist. It does not change the class of an item whose program named a
// class. It holds no keys and reads no vault, so `latchkey rules test` works without a vault. The
// module YAML reads the files' syntax.

import Glibc
import LatchkeyReasons

/// The rules that are in force: the user's rules, then the installed rules. The first rule that fits gives the class.
public final class ClassRules {
  /// The answer of the rules for some attributes.
  public struct Decision: Equatable, Sendable {
    /// The rule that fits.
    public let rule: ClassRule
    /// The file of the rule.
    public let path: String
  }

  private var files: [WatchedRules]
  private let warn: (Reason) -> Void

  /// Reads the rules of the user at `user` and the installed ones at `shipped`.
  ///
  /// - Parameters:
  ///   - owner: the user who may own the files. Root may own them too.
  ///   - warn: hears each problem of a file once.
  public init(user: String, shipped: String, owner: uid_t, warn: @escaping (Reason) -> Void) {
    self.warn = warn
    files = [
      WatchedRules(user, owner: owner, mustExist: false), WatchedRules(shipped, owner: owner, mustExist: true),
    ]
    refresh()
  }

  /// Reads the files that have changed since the last reading. If a file can no longer be read, its former rules stay in force.
  public func refresh() {
    for index in files.indices where files[index].refresh() {
      if let problem = files[index].problem { warn(problem) }
    }
  }

  /// The problems of the files.
  public var problems: [Reason] { files.compactMap(\.problem) }

  /// The first rule that fits, by the present files; nil if no rule fits.
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
