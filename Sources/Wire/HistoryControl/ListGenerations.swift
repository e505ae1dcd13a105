import LatchkeyBytes
import LatchkeyControl

/// Asks for the generations of the vault with lower numbers than this one, newest first.
package struct ListGenerations: ControlMessage {
  package typealias Answer = GenerationPage
  package static let operation: UInt8 = 35
  /// The number; 0 asks for the newest generations.
  package let below: UInt32

  package init(below: UInt32) { self.below = below }

  package init?(decoding input: inout ByteReader) {
    guard let number = UInt32(decoding: &input) else { return nil }
    below = number
  }

  package func encode(into out: inout ByteWriter) { out.number(below) }
}

extension ControlClient {
  /// Collects all pages, and returns all generations with the settings.
  package borrowing func generations(until deadline: Int) throws(ControlError) -> GenerationPage {
    var lines: [GenerationPage.Line] = []
    while true {
      let page = try ask(ListGenerations(below: lines.last?.number ?? 0), until: deadline)
      lines += page.lines
      guard page.hasMore, let last = page.lines.last, last.number > 1 else { return page.with(lines) }
    }
  }
}
