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
  /// Its values.
  package let values: [Value]

  /// A reason within a reason within a reason, and so on: no more than this.
  private static let depthLimit = 8
  private static let codeLimit = 64
  /// No reason has more.
  private static let valueLimit = 4

  init(_ code: String, _ values: any ReasonValue...) {
    self.code = code
    self.values = values.map(\.value)
  }

  init<Group: ReasonGroup>(_ reason: Group) {
    code = "\(Group.name).\(reason.rawValue)"
    values = []
  }

  /// Writes the reason. If it would be longer than `limit` bytes, its texts are cut. If it is too long even then, it is left out.
  package func encode(into out: inout ByteWriter, limit: Int) {
    for length in [1024, 512, 380, 240, 120, 60, 16] {
      var bytes = ByteWriter()
      write(into: &bytes, textLimit: length)
      if bytes.bytes.count <= limit { return out.put(bytes.bytes) }
    }
    CodedReason("verbatim", "…").write(into: &out, textLimit: 16)
  }

  private func write(into out: inout ByteWriter, textLimit: Int) {
    out.text(code, limit: Self.codeLimit)
    out.number(UInt8(values.count))
    for value in values {
      switch value {
      case .number(let number):
        out.number(UInt8(0))
        out.number(number)
      case .text(let text):
        out.number(UInt8(1))
        out.text(text, limit: textLimit)
      case .reason(let reason):
        out.number(UInt8(2))
        reason.write(into: &out, textLimit: textLimit)
      }
    }
  }

  /// Reads it; nil if it is malformed.
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

  /// Takes the values in their order.
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

/// Numbers travel in 64 bits. None of them is negative.
protocol ReasonNumber: ReasonValue, FixedWidthInteger {}

extension ReasonNumber {
  var value: CodedReason.Value { .number(UInt64(clamping: self)) }
  init?(_ value: CodedReason.Value) {
    guard case .number(let number) = value, let exact = Self(exactly: number) else { return nil }
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
    self.init(reason)
  }
}

extension Reason {
  /// The size of the longest reason on the wire, in bytes, unless a message has its own limit.
  package static let sizeLimit = 1024

  /// Writes it as ``CodedReason`` does.
  package func encode(into out: inout ByteWriter, limit: Int = Reason.sizeLimit) {
    coded.encode(into: &out, limit: limit)
  }

  /// Reads it; nil if it is malformed. A code that this version does not know is shown as it is.
  package init?(decoding input: inout ByteReader) {
    guard let coded = CodedReason(decoding: &input) else { return nil }
    self = Reason(coded) ?? .verbatim(coded.code)
  }

  /// Writes one that need not be there.
  package static func encode(_ reason: Reason?, into out: inout ByteWriter, limit: Int = Reason.sizeLimit) {
    out.number(UInt8(reason == nil ? 0 : 1))
    reason?.encode(into: &out, limit: limit)
  }

  /// Reads what ``encode(_:into:limit:)`` wrote.
  package static func optional(decoding input: inout ByteReader) throws(CodedReason.Unknown) -> Reason? {
    switch try? input.number(UInt8.self) {
    case 0: return nil
    case 1:
      guard let reason = Reason(decoding: &input) else { throw CodedReason.Unknown() }
      return reason
    default: throw CodedReason.Unknown()
    }
  }

  /// Its bytes alone.
  package var encoded: [UInt8] {
    var out = ByteWriter()
    encode(into: &out)
    return out.bytes
  }

  /// Reads them; nil for others.
  package init?(encoded bytes: [UInt8]) {
    var input = ByteReader(bytes)
    self.init(decoding: &input)
  }
}
