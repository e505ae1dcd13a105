import LatchkeyBytes

/// Removes the passphrase of an unlocked collection.
package struct RemovePassphrase: ControlMessage {
  package typealias Answer = Done
  package static let operation: UInt8 = 10
  /// The collection's label, or the last part of its object path; cut after 255 bytes.
  package let collection: String

  package init(collection: String) { self.collection = collection }

  package init?(decoding input: inout ByteReader) {
    guard let name = input.text(limit: PromptRequest.textLimit) else { return nil }
    collection = name
  }

  package func encode(into out: inout ByteWriter) { out.text(collection, limit: PromptRequest.textLimit) }
}
