import LatchkeyBytes

/// Makes a prompt for a collection. The peer itself shows the prompt, on this connection.
package struct OpenPrompt: ControlMessage {
  package typealias Answer = OpenedPrompt
  package static let operation: UInt8 = 9
  /// The purpose of the prompt.
  package let purpose: PromptRequest.Purpose
  /// The collection's label, or the last part of its object path; cut after 255 bytes.
  package let collection: String

  package init(_ purpose: PromptRequest.Purpose, collection: String) {
    self.purpose = purpose
    self.collection = collection
  }

  package init?(decoding input: inout ByteReader) {
    guard let raw = try? input.number(UInt8.self), let purpose = PromptRequest.Purpose(rawValue: raw),
      let name = input.text(limit: PromptRequest.textLimit)
    else { return nil }
    self.init(purpose, collection: name)
  }

  package func encode(into out: inout ByteWriter) {
    out.number(purpose.rawValue)
    out.text(collection, limit: PromptRequest.textLimit)
  }
}

/// A prompt that was made.
package struct OpenedPrompt: ControlFields, Equatable, Sendable {
  /// The prompt's number.
  package let number: UInt64
  /// The request that the peer shows.
  package let request: PromptRequest

  /// Makes a value from its parts.
  package init(number: UInt64, request: PromptRequest) {
    self.number = number
    self.request = request
  }

  package init?(decoding input: inout ByteReader) {
    guard let number = UInt64(decoding: &input), let request = PromptRequest(decoding: &input) else { return nil }
    self.init(number: number, request: request)
  }

  package func encode(into out: inout ByteWriter) {
    out.number(number)
    request.encode(into: &out)
  }
}
