import LatchkeyBytes

/// A message that asks for a part of a list.
package protocol PageMessage: ControlMessage {
  /// The number of lines that the client already has.
  var after: UInt64 { get }
  init(after: UInt64)
}

extension PageMessage {
  package init?(decoding input: inout ByteReader) {
    guard let line = UInt64(decoding: &input) else { return nil }
    self.init(after: line)
  }

  package func encode(into out: inout ByteWriter) { out.number(after) }
}
