import LatchkeyGettext
import LatchkeyText

/// The result of one check.
public struct Finding: Equatable, Sendable {
  /// The condition.
  public enum Condition: String, Equatable, Sendable, Comparable {
    /// All is well.
    case ok
    /// Doctor could not check this.
    case unknown
    /// Everything works, but not as well as it could.
    case warning
    /// Secrets are not unlocked, not reached or not protected.
    case broken

    private var weight: Int {
      switch self {
      case .ok: 0
      case .unknown: 1
      case .warning: 2
      case .broken: 3
      }
    }

    /// A worse condition is greater.
    public static func < (left: Condition, right: Condition) -> Bool { left.weight < right.weight }
  }

  /// A way to fix the problem.
  public enum Fix: Equatable, Sendable {
    /// A command line for the person's shell. It must not use `sudo` on a path below a home, because the programs of the home's
    /// owner can put a link there at any moment.
    case command(ShellCommand)
    /// A step for the person that no command can do.
    case advice(String)
  }

  /// The name of the check, the same in every version, such as `pam.login`.
  public let id: String
  /// The condition.
  public let condition: Condition
  /// The finding in words.
  public let found: String
  /// The fix; nil if nothing is wrong, or no fix is known.
  public let fix: Fix?
  /// A remark on the command of the fix, such as another way for machines on which the command does nothing; nil without a
  /// remark.
  public let remark: String?

  /// The command line that fixes the problem; nil if there is none.
  public var command: String? {
    if case .command(let command)? = fix { command.line } else { nil }
  }

  /// A step for the person that no command can do, or the remark; nil if there is neither.
  public var advice: String? {
    if case .advice(let text)? = fix { text } else { remark }
  }

  init(_ id: String, _ condition: Condition, _ found: String, fix: Fix? = nil, remark: String? = nil) {
    self.id = id
    self.condition = condition
    self.found = found
    self.fix = condition == .ok ? nil : fix
    self.remark = condition == .ok ? nil : remark
  }

  /// The same finding after somebody turned Latchkey off.
  var whileOff: Finding {
    condition == .ok ? self : .ok(id, translated("not needed while Latchkey is off: \(found)"))
  }

  static func ok(_ id: String, _ found: String) -> Finding { Finding(id, .ok, found) }
  static func unknown(_ id: String, _ found: String) -> Finding { Finding(id, .unknown, found) }
}

/// A fact, or the reason why the fact is unknown.
public enum Known<Value: Sendable>: Sendable {
  case known(Value)
  case unknown(String)

  /// A fact that follows from this fact.
  package func map<Other>(_ other: (Value) -> Other) -> Known<Other> {
    switch self {
    case .known(let value): .known(other(value))
    case .unknown(let why): .unknown(why)
    }
  }

  /// The fact; nil if it is unknown.
  public var value: Value? {
    if case .known(let value) = self { value } else { nil }
  }
}
