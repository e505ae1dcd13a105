import CLatchkeyPAMModule

/// The variables that the application put into the PAM environment for Latchkey's own services.
///
/// This uses only `pam_getenv`, and never the environment of the process. A setuid caller has that environment from the program
/// that started it.
enum Variable {
  /// The number of the prompt of latchkeyd that this call answers.
  case prompt
  /// The collection's name, and the program that wants to open it. A person reads both, and only the application vouches for them.
  case label, caller
  /// The value "no" means that the module must not ask for a former password.
  case former
  /// The moment at which the person gave the last answer, as in `Moment.now`.
  case given

  private var name: Literal {
    switch self {
    case .prompt: "LATCHKEY_PROMPT"
    case .label: "LATCHKEY_LABEL"
    case .caller: "LATCHKEY_CALLER"
    case .former: "LATCHKEY_FORMER"
    case .given: "LATCHKEY_GIVEN"
    }
  }

  /// libpam's own string, or nil. It is valid until somebody sets the variable again, which a conversation may do.
  func string(of handle: OpaquePointer) -> UnsafePointer<CChar>? {
    UnsafePointer(pam_getenv(handle, name.cString))
  }

  /// Whether the module may ask for a former password.
  static func mayAskFormer(of handle: OpaquePointer) -> Bool {
    guard let value = Variable.former.string(of: handle) else { return true }
    return strcmp(value, ("no" as Literal).cString) != 0
  }

  /// The prompt's number as digits; empty if there is none.
  static func promptNumber(of handle: OpaquePointer) -> Text { Variable.prompt.digits(of: handle) }

  /// The moment at which the person gave the last answer; 0 if the application does not tell it.
  static func given(of handle: OpaquePointer) -> UInt64 {
    let digits = Variable.given.digits(of: handle)
    guard let start = digits.start else { return 0 }
    var moment: UInt64 = 0
    var index = 0
    while index < digits.count {
      moment = moment &* 10 &+ UInt64(start.load(fromByteOffset: index, as: UInt8.self) &- 0x30)
      index = index &+ 1
    }
    return moment
  }

  /// The variable's digits; empty unless its value is just a decimal number from 1 to 2^63 - 1.
  private func digits(of handle: OpaquePointer) -> Text {
    let largest: Literal = "9223372036854775807"
    let digits = Text(string(of: handle), limit: largest.count)
    guard let start = digits.start, 0 < digits.count, digits.count <= largest.count else { return .empty }
    var index = 0
    while index < digits.count {
      let byte = start.load(fromByteOffset: index, as: UInt8.self)
      guard (index == 0 ? 0x31 : 0x30) <= byte, byte <= 0x39 else { return .empty }
      index = index &+ 1
    }
    // If two numbers have the same number of digits, the smaller one sorts first.
    guard digits.count < largest.count || memcmp(start, largest.cString, largest.count) <= 0 else { return .empty }
    return digits
  }
}
