import LatchkeyBytes

/// Tells the daemon where the prompt of this connection is about to ask. A prompt on its client's terminal must end with the
/// client, because a shell then reads from the terminal again.
package struct PlacePrompt: ControlMessage {
  package typealias Answer = Done
  package static let operation: UInt8 = 47

  /// The place.
  package let place: PromptPlace

  package init(_ place: PromptPlace) { self.place = place }

  package init?(decoding input: inout ByteReader) {
    guard let number = try? input.number(UInt8.self), let place = PromptPlace(rawValue: number) else { return nil }
    self.place = place
  }

  package func encode(into out: inout ByteWriter) { out.number(place.rawValue) }
}

/// Where a prompt asks the person.
public enum PromptPlace: UInt8, CaseIterable, Sendable {
  /// In a window of the desktop, which no other program reads.
  case window = 1
  /// On the terminal of the program that caused the prompt.
  case terminal = 2
}
