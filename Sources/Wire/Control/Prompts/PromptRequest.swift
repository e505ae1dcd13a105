import LatchkeyBytes
import LatchkeyKeybag

/// A request that `latchkey-prompt` shows to a person. Its labels and names are only for reading, and it contains no secret.
public struct PromptRequest: ControlFields, Equatable, Sendable {
  /// The purposes of a prompt.
  public enum Purpose: UInt8, Sendable {
    /// The login password, by the PAM service `latchkey-unlock`.
    case login = 1
    /// The passphrase of a collection, by the PAM service `latchkey-collection`.
    case collection = 2
    /// A new passphrase for a collection, by `latchkey-collection` too.
    case newPassphrase = 3
    /// The requirements of an item, by `latchkey-presence`, `latchkey-biometry` and `latchkey-item`.
    case item = 4
    /// A passphrase for a new item, or another passphrase for an existing one, by `latchkey-item`.
    case newItemPassphrase = 5
    /// The same requirements as for ``item``, before a change of the requirements.
    case itemAccess = 6
    /// The login password, by `latchkey-unlock`, with which the first vault is created.
    case newVault = 7
    /// No question, but advice: the person wanted to change the password of the default collection.
    case loginAdvice = 8

    /// Whether an answer of PAM modules counts only after the person has seen the request. A finger on the reader may have been
    /// meant for something else.
    public var needsAgreement: Bool { self == .item || self == .itemAccess }
  }

  /// A process whose program is an interpreter, such as python3.11.
  public struct Interpreter: Equatable, Sendable {
    /// The name of the interpreter's executable.
    public let program: String
    /// The process id.
    public let pid: UInt32
    /// The start time on the kernel's clock. A later process with the same id has another start time.
    public let started: UInt64

    /// The form of the interpreter's arguments.
    public let family: Family

    /// Interpreters whose arguments have the same form.
    public enum Family: Sendable {
      case python, node, perl, ruby, java, shell

      /// Nil for any other program.
      init?(program: String) {
        // The name may have a version or an ending, such as "python3.11" or "bash-static".
        switch program.prefix(while: { !$0.isNumber && $0 != "." && $0 != "-" }) {
        case "python", "pypy": self = .python
        case "node", "nodejs": self = .node
        case "perl": self = .perl
        case "ruby": self = .ruby
        case "java": self = .java
        case "bash", "sh", "dash", "zsh", "ksh": self = .shell
        default: return nil
        }
      }
    }

    /// Nil if the program is not an interpreter.
    public init?(program: String, pid: UInt32, started: UInt64) {
      guard let family = Family(program: program), pid != 0 else { return nil }
      self.family = family
      (self.program, self.pid, self.started) = (program, pid, started)
    }
  }

  /// The longest text, in bytes; longer texts are cut.
  static let textLimit = 255

  /// The prompt's purpose.
  public let purpose: Purpose
  /// The label of the collection or item; empty for the login password.
  public let label: String
  /// The program that caused the prompt, as far as the system can tell; empty if it cannot. This is only a hint.
  public let caller: String
  /// The window that the client named, in any form; empty if it named none.
  public let window: String
  /// The device of the client's terminal, such as "/dev/pts/3"; empty if it has none.
  public let terminal: String
  /// The item's requirements.
  public let access: AccessControl
  /// The seconds for which the client may read the item again without a prompt; 0 for one use.
  public let reuse: UInt16
  /// The change of the item, as words that follow "to"; empty if there is none.
  public let change: String
  /// The program's reason, in its own words; empty if there is none.
  public let reason: String
  /// Whether the program gave the item's passphrase, so that the person is not asked for the passphrase.
  public let hasPassphrase: Bool
  /// The process that caused the prompt, if its program is an interpreter; nil for any other process.
  public let interpreter: Interpreter?
  /// Whether the client's terminal is at another machine, where nobody can touch a reader of this machine.
  public let isAway: Bool

  /// Makes a value from its parts.
  public init(
    purpose: Purpose, label: String, caller: String, window: String, terminal: String, access: AccessControl = .none,
    reuse: UInt16 = 0, change: String = "", reason: String = "", interpreter: Interpreter? = nil,
    hasPassphrase: Bool = false, isAway: Bool = false
  ) {
    self.purpose = purpose
    self.label = label
    self.caller = caller
    self.window = window
    self.terminal = terminal
    self.access = access
    self.reuse = reuse
    self.change = change
    self.reason = reason
    self.hasPassphrase = hasPassphrase
    self.interpreter = interpreter
    self.isAway = isAway
  }

  package func encode(into out: inout ByteWriter) {
    out.number(purpose.rawValue)
    for text in [label, caller, window, terminal] { out.text(text, limit: PromptRequest.textLimit) }
    out.number(access.rawValue)
    out.number(reuse)
    out.text(change, limit: PromptRequest.textLimit)
    out.text(reason, limit: PromptRequest.textLimit)
    out.number(UInt8(hasPassphrase ? 1 : 0))
    out.text(interpreter?.program ?? "", limit: PromptRequest.textLimit)
    out.number(interpreter?.pid ?? 0)
    out.number(interpreter?.started ?? 0)
    out.number(UInt8(isAway ? 1 : 0))
  }

  package init?(decoding input: inout ByteReader) {
    guard let raw = try? input.number(UInt8.self), let purpose = Purpose(rawValue: raw),
      let label = input.text(limit: PromptRequest.textLimit), let caller = input.text(limit: PromptRequest.textLimit),
      let window = input.text(limit: PromptRequest.textLimit),
      let terminal = input.text(limit: PromptRequest.textLimit),
      let flags = try? input.number(UInt32.self), let access = try? AccessControl(rawValue: flags),
      let reuse = try? input.number(UInt16.self), let change = input.text(limit: PromptRequest.textLimit),
      let reason = input.text(limit: PromptRequest.textLimit),
      let hasPassphrase = try? input.number(UInt8.self), hasPassphrase <= 1,
      let program = input.text(limit: PromptRequest.textLimit), let pid = try? input.number(UInt32.self),
      let started = try? input.number(UInt64.self), let isAway = try? input.number(UInt8.self), isAway <= 1
    else { return nil }
    self.init(
      purpose: purpose, label: label, caller: caller, window: window, terminal: terminal, access: access,
      reuse: reuse, change: change, reason: reason,
      interpreter: Interpreter(program: program, pid: pid, started: started), hasPassphrase: hasPassphrase == 1,
      isAway: isAway == 1)
  }
}
