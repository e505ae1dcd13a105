import LatchkeyBytes

/// The fields of a packet after its head, or some of them.
package protocol ControlFields {
  /// Writes the fields in the form that ``init(decoding:)`` reads.
  func encode(into out: inout ByteWriter)
  /// Reads the fields; nil if they are malformed.
  init?(decoding input: inout ByteReader)
}

/// An answer without fields, which says that the daemon has done the request.
package struct Done: ControlFields, Equatable, Sendable {
  /// The only value.
  package init() {}
  package init?(decoding input: inout ByteReader) {}
  package func encode(into out: inout ByteWriter) {}
}

/// The type of the answer to a message that has no answer.
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

/// A flag is one byte, 0 or 1.
extension Bool: ControlFields {
  package init?(decoding input: inout ByteReader) {
    guard let byte = try? input.number(UInt8.self), byte <= 1 else { return nil }
    self = byte == 1
  }

  package func encode(into out: inout ByteWriter) { out.number(UInt8(self ? 1 : 0)) }
}
