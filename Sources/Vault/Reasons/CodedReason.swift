import LatchkeyBytes

/// A ``Reason`` on its way to another program: a code, and its values in the order of the sentence. docs/developer/protocols.md
/// has it byte by byte.
package struct CodedReason: Hashable, Sendable {
  /// One value.
  package enum Value: Hashable, Sendable {
    case number(UInt64)
    case text(String)
    case reason(CodedReason)
  }

  /// "vault.diskFull".
  package let code: String
  /// The reason's values.
  package let values: [Value]

  /// The most levels of reasons within reasons.
  private static let depthLimit = 12
  private static let codeLimit = 64
  /// The most values of a reason.
  private static let valueLimit = 4

  init(_ code: String, _ values: any ReasonValue...) {
    self.code = code
    self.values = values.map(\.value)
  }

  init<Group: ReasonGroup>(_ reason: Group) {
    code = "\(Group.name).\(reason.rawValue)"
    values = []
  }

  /// The reason's bytes with texts of at most `textLimit` bytes, or nil if these are more than `limit`. A text that is cut ends
  /// with "…", and a list of numbers is cut between two numbers.
  func bytes(textLimit: Int, limit: Int) -> [UInt8]? {
    var out = ByteWriter()
    write(into: &out, textLimit: textLimit, depth: 0)
    return out.bytes.count <= limit ? out.bytes : nil
  }

  private func write(into out: inout ByteWriter, textLimit: Int, depth: Int) {
    out.text(code, limit: Self.codeLimit)
    out.number(UInt8(values.count))
    for value in values {
      switch value {
      case .number(let number):
        out.number(UInt8(0))
        out.number(number)
      case .text(let text):
        out.number(UInt8(1))
        out.text(Self.cut(text, to: textLimit), limit: textLimit)
      case .reason(let reason):
        out.number(UInt8(2))
        // A reader refuses the whole packet if a reason in it is deeper.
        let told = depth + 2 < Self.depthLimit || reason.isFlat ? reason : Reason.more.coded
        told.write(into: &out, textLimit: textLimit, depth: depth + 1)
      }
    }
  }

  private var isFlat: Bool { values.allSatisfy { if case .reason = $0 { false } else { true } } }

  private static func cut(_ text: String, to limit: Int) -> String {
    guard text.utf8.count > limit else { return text }
    var end = text.utf8.index(text.startIndex, offsetBy: limit - "…".utf8.count)
    while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
    var kept = text[..<end]
    if text.utf8.allSatisfy({ isDigit($0) || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: " ") }) {
      while let last = kept.last, last != " " { kept.removeLast() }
    }
    return kept + "…"
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }

  /// Reads a reason; nil if the bytes are malformed.
  package init?(decoding input: inout ByteReader) { self.init(&input, depth: 0) }

  private init?(_ input: inout ByteReader, depth: Int) {
    guard depth < Self.depthLimit, let code = input.text(limit: Self.codeLimit),
      let count = try? input.number(UInt8.self), count <= Self.valueLimit
    else { return nil }
    var values: [Value] = []
    for _ in 0..<count {
      switch try? input.number(UInt8.self) {
      case 0:
        guard let number = try? input.number(UInt64.self) else { return nil }
        values.append(.number(number))
      case 1:
        guard let text = try? input.text() else { return nil }
        values.append(.text(text))
      case 2:
        guard let reason = CodedReason(&input, depth: depth + 1) else { return nil }
        values.append(.reason(reason))
      default: return nil
      }
    }
    (self.code, self.values) = (code, values)
  }

  /// A code that this program does not know, or other values than it has.
  package struct Unknown: Error {
    package init() {}
  }

  /// Reads the values in their order.
  struct Reader {
    private var values: ArraySlice<Value>

    init(_ values: [Value]) { self.values = values[...] }

    var isAtEnd: Bool { values.isEmpty }

    mutating func next<Wanted: ReasonValue>() throws(Unknown) -> Wanted {
      guard let value = values.popFirst(), let wanted = Wanted(value) else { throw Unknown() }
      return wanted
    }
  }
}

/// A type of the values that reasons have.
protocol ReasonValue {
  var value: CodedReason.Value { get }
  init?(_ value: CodedReason.Value)
}

/// Numbers travel in 64 bits, negative numbers as their two's complement: a damaged file can have any number.
protocol ReasonNumber: ReasonValue, FixedWidthInteger {}

extension ReasonNumber {
  var value: CodedReason.Value { .number(UInt64(bitPattern: Int64(clamping: self))) }
  init?(_ value: CodedReason.Value) {
    guard case .number(let number) = value, let exact = Self(exactly: Int64(bitPattern: number)) else { return nil }
    self = exact
  }
}

extension Int: ReasonNumber {}
extension Int64: ReasonNumber {}
extension UInt32: ReasonNumber {}

extension String: ReasonValue {
  var value: CodedReason.Value { .text(self) }
  init?(_ value: CodedReason.Value) {
    guard case .text(let text) = value else { return nil }
    self = text
  }
}

extension Reason: ReasonValue {
  var value: CodedReason.Value { .reason(coded) }
  init?(_ value: CodedReason.Value) {
    guard case .reason(let reason) = value else { return nil }
    self.init(telling: reason)
  }
}

extension Reason {
  /// The size of the longest reason on the wire, in bytes, unless a message has its own limit.
  package static let sizeLimit = 1024

  /// Writes the reason in at most `limit` bytes. A longer reason first loses the ends of its texts, and then its last parts, so
  /// that its subject always arrives.
  package func encode(into out: inout ByteWriter, limit: Int = Reason.sizeLimit) {
    var told = self
    while true {
      for length in [1024, 512, 240, 120] {
        if let bytes = told.coded.bytes(textLimit: length, limit: limit) { return out.put(bytes) }
      }
      guard let shorter = told.withoutLastPart else { break }
      told = shorter
    }
    let coded = told.coded
    let short = coded.bytes(textLimit: 60, limit: limit) ?? coded.bytes(textLimit: 16, limit: limit)
    out.put(short ?? Self.more.coded.bytes(textLimit: 16, limit: .max) ?? [])
  }

  /// The mark that replaces parts that are left out.
  fileprivate static let more = Reason.verbatim("…")

  /// The reason with the mark in place of the last part; nil if there is only one part.
  private var withoutLastPart: Reason? {
    guard case .both(let first, let last) = self else { return nil }
    if last != Self.more { return .both(first, Self.more) }
    guard case .both(let before, _) = first else { return nil }
    return .both(before, Self.more)
  }

  /// Reads a value; nil if the bytes are malformed. A code that this version does not know is shown unchanged.
  package init?(decoding input: inout ByteReader) {
    guard let coded = CodedReason(decoding: &input) else { return nil }
    self.init(telling: coded)
  }

  /// The reason of a code, or the code itself, if this version does not know it.
  init(telling coded: CodedReason) { self = Reason(coded) ?? .verbatim(coded.code) }

  /// Writes a reason that may be missing.
  package static func encode(_ reason: Reason?, into out: inout ByteWriter, limit: Int = Reason.sizeLimit) {
    out.number(UInt8(reason == nil ? 0 : 1))
    reason?.encode(into: &out, limit: limit)
  }

  /// Reads a reason that ``encode(_:into:limit:)`` wrote.
  package static func optional(decoding input: inout ByteReader) throws(CodedReason.Unknown) -> Reason? {
    switch try? input.number(UInt8.self) {
    case 0: return nil
    case 1:
      guard let reason = Reason(decoding: &input) else { throw CodedReason.Unknown() }
      return reason
    default: throw CodedReason.Unknown()
    }
  }

  /// The bytes of the reason alone, at most `limit`.
  package func encoded(limit: Int = Reason.sizeLimit) -> [UInt8] {
    var out = ByteWriter()
    encode(into: &out, limit: limit)
    return out.bytes
  }

  /// Reads a reason; nil for malformed bytes, and for a reason with a part that this version does not know.
  package init?(encoded bytes: [UInt8]) {
    var input = ByteReader(bytes)
    guard let coded = CodedReason(decoding: &input), let reason = Reason(coded), reason.coded == coded else {
      return nil
    }
    self = reason
  }
}
