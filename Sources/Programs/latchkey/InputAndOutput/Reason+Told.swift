import LatchkeyGettext
import LatchkeyReasons
import LatchkeySystemd

extension Reason {
  /// The sentence in the person's language.
  var told: String { phrase.translated }

  /// The reason alone, if the command to type follows in another line.
  var withoutAdvice: Reason { if case .both(let first, _) = self { first } else { self } }

  /// Whether there is no vault. A vault may come, but never for a system account.
  var isLackOfVault: Bool {
    switch self {
    case .vault(.notCreated), .notCreatedForRoom: true
    default: false
    }
  }
}

extension BusError {
  /// The vault's reason; nil for an error of the bus or of another program, and for an error that came without a reason.
  var reason: Reason? { Reason(encoded: detail) }

  /// The sentence in the person's language. Words of another program stay unchanged.
  var told: String { reason?.told ?? message }

  /// The sentence without the advice.
  var toldWithoutAdvice: String { reason?.withoutAdvice.told ?? String(message.prefix { $0 != ";" }) }
}

/// A reason as JSON: its code, and its values in the order of the sentence.
struct ReasonCode: Encodable {
  private let reason: CodedReason

  init(_ reason: Reason) { self.init(reason.coded) }

  private init(_ reason: CodedReason) { self.reason = reason }

  private enum CodingKeys: String, CodingKey { case code, values }

  func encode(to encoder: any Encoder) throws {
    var out = encoder.container(keyedBy: CodingKeys.self)
    try out.encode(reason.code, forKey: .code)
    var values = out.nestedUnkeyedContainer(forKey: .values)
    for value in reason.values {
      switch value {
      case .number(let number): try values.encode(number)
      case .text(let text): try values.encode(text)
      case .reason(let reason): try values.encode(ReasonCode(reason))
      }
    }
  }
}
