// A stand-in for the part of FoundationEssentials that swift-argument-parser uses, in a module of the same name. The real
// one is 6 MB of `latchkey`, because all types of a module stay in a program that links a part of it.
//
// Only `make build` compiles this, together with Sources/System/Text/JSON*.swift, and has the compiler look here first.
// `swift build` and `swift test` use the real module. No source of a program imports it: test_floors.py checks that. The
// folder can go when a release of swift-argument-parser builds without Foundation.

/// An error that says what it is. No error of `latchkey` is one.
public protocol LocalizedError: Error {
  /// The words.
  var errorDescription: String? { get }
}

/// What an encoder makes.
public struct Data {
  fileprivate let text: String
}

/// Encodes the answer to `--experimental-dump-help`.
public final class JSONEncoder {
  /// The form of the text. Keys are always sorted.
  public struct OutputFormatting: OptionSet, Sendable {
    /// The bits.
    public let rawValue: UInt

    /// The options of some bits.
    public init(rawValue: UInt) { self.rawValue = rawValue }

    /// A line for each value.
    public static let prettyPrinted = OutputFormatting(rawValue: 1)
    /// The encoder always sorts keys.
    public static let sortedKeys = OutputFormatting(rawValue: 2)
  }

  /// The form of the text.
  public var outputFormatting: OutputFormatting = []

  /// An encoder for text of one line.
  public init() {}

  /// The value as JSON.
  public func encode<Value: Encodable>(_ value: Value) throws -> Data {
    Data(text: try JSONValue(value).text(isPretty: outputFormatting.contains(.prettyPrinted)))
  }
}

extension String {
  /// The only encoding of JSON.
  public struct Encoding: Sendable {
    /// UTF-8.
    public static let utf8 = Encoding()
  }

  /// What an encoder made, as text.
  public init?(data: Data, encoding: Encoding) { self = data.text }
}
