import LatchkeyBytes

/// The fields of a packet after its head, or some of them.
package protocol ControlFields {
  /// Writes what ``init(decoding:)`` reads.
  func encode(into out: inout ByteWriter)
  /// Reads it; nil if it is malformed.
  init?(decoding input: inout ByteReader)
}

/// Nothing: it was done.
package struct Done: ControlFields, Equatable, Sendable {
  /// Done.
  package init() {}
  package init?(decoding input: inout ByteReader) {}
  package func encode(into out: inout ByteWriter) {}
}

/// The answer of a message that has none.
package enum NoAnswer: ControlFields {
  package init?(decoding input: inout ByteReader) { return nil }
  package func encode(into out: inout ByteWriter) {}
}

extension UInt32: ControlFields {
  package init?(decoding input: inout ByteReader) {
    guard let number = try? input.number(UInt32.self) else { return nil }
    self = number
  }

  package func encode(into out: inout ByteWriter) { out.number(self) }
}

extension UInt64: ControlFields {
  package init?(decoding input: inout ByteReader) {
    guard let number = try? input.number(UInt64.self) else { return nil }
    self = number
  }

  package func encode(into out: inout ByteWriter) { out.number(self) }
}

/// One byte, 0 or 1.
extension Bool: ControlFields {
  package init?(decoding input: inout ByteReader) {
    guard let byte = try? input.number(UInt8.self), byte <= 1 else { return nil }
    self = byte == 1
  }

  package func encode(into out: inout ByteWriter) { out.number(UInt8(self ? 1 : 0)) }
}
