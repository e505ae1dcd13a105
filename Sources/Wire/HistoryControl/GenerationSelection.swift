import LatchkeyBytes
import LatchkeyControl

/// The chosen items of a generation.
package enum GenerationSelection: ControlFields, Equatable, Sendable {
  /// All items.
  case everything
  /// The items of the collections with this label.
  case collection(String)
  /// The items that have all these attributes.
  case attributes([String: String])
  /// The items with these numbers, which are the last parts of their paths.
  case items([UInt64])

  /// The most items that may be named.
  package static let itemLimit = 2000
  private static let textLimit = 4096

  /// Whether the selection fits into a packet.
  package var fits: Bool {
    switch self {
    case .everything: true
    case .collection(let label): label.utf8.count <= Self.textLimit
    case .attributes(let attributes):
      attributes.count <= UInt8.max
        && attributes.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + 4 } <= Self.textLimit
    case .items(let numbers): numbers.count <= Self.itemLimit
    }
  }

  package func encode(into out: inout ByteWriter) {
    switch self {
    case .everything: out.number(UInt8(0))
    case .collection(let label):
      out.number(UInt8(1))
      out.text(label, limit: Self.textLimit)
    case .attributes(let attributes):
      out.number(UInt8(2))
      out.number(UInt8(clamping: attributes.count))
      for (name, value) in attributes.sorted(by: { $0.key < $1.key }) {
        out.text(name, limit: Self.textLimit)
        out.text(value, limit: Self.textLimit)
      }
    case .items(let numbers):
      out.number(UInt8(3))
      out.number(UInt16(clamping: numbers.count))
      for number in numbers { out.number(number) }
    }
  }

  package init?(decoding input: inout ByteReader) {
    switch try? input.number(UInt8.self) {
    case 0: self = .everything
    case 1:
      guard let label = input.text(limit: Self.textLimit) else { return nil }
      self = .collection(label)
    case 2:
      guard let count = try? input.number(UInt8.self), count > 0 else { return nil }
      var attributes: [String: String] = [:]
      for _ in 0..<count {
        guard let name = input.text(limit: Self.textLimit), let value = input.text(limit: Self.textLimit),
          attributes.updateValue(value, forKey: name) == nil
        else { return nil }
      }
      self = .attributes(attributes)
      guard fits else { return nil }
    case 3:
      guard let count = try? input.number(UInt16.self), count > 0, count <= Self.itemLimit else { return nil }
      var numbers: [UInt64] = []
      for _ in 0..<count {
        guard let number = UInt64(decoding: &input) else { return nil }
        numbers.append(number)
      }
      self = .items(numbers)
    default: return nil
    }
  }
}
