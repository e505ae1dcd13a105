import CLatchkeyPAMModule

/// The variables that the application put into the PAM environment for Latchkey's own services.
///
/// Only `pam_getenv`, never the process's own environment, which a setuid caller has from the program that started it.
enum Variable {
  /// The number of the prompt of latchkeyd's that is being answered.
  case prompt
  /// The collection's name, and the program that wants to open it. A person reads them; only the application vouches for them.
  case label, caller
  /// "no": nobody is to be asked for a former password.
  case former
  /// When the person gave the last answer, as `Moment.now`.
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

  /// libpam's own copy, or nil. It is valid until the variable is set again, which a conversation may do.
  func string(of handle: OpaquePointer) -> UnsafePointer<CChar>? {
    UnsafePointer(pam_getenv(handle, name.cString))
  }

  /// Whether somebody may be asked for a former password.
  static func mayAskFormer(of handle: OpaquePointer) -> Bool {
    guard let value = Variable.former.string(of: handle) else { return true }
    return strcmp(value, ("no" as Literal).cString) != 0
  }

  /// The prompt's number as digits; empty without one.
  static func promptNumber(of handle: OpaquePointer) -> Text { Variable.prompt.digits(of: handle) }

  /// When the person gave the last answer; 0 if the application does not tell.
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

  /// Its digits; empty unless it is a decimal number of 1 to 2^63 - 1, without anything around it.
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
    // Of numbers with as many digits, the smaller one sorts first.
    guard digits.count < largest.count || memcmp(start, largest.cString, largest.count) <= 0 else { return .empty }
    return digits
  }
}
