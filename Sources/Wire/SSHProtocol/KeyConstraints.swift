import LatchkeySodium

/// The constraints that came with a key.
public struct KeyConstraints: Equatable, Sendable {
  /// Why constraints are refused.
  public enum Failure: Error {
    /// The constraints are damaged, or one of them occurs twice.
    case malformed
    /// A constraint is not known here. A key must not be taken without it.
    case unknown
  }

  /// After how many seconds the key is removed.
  public var lifetime: UInt32?
  /// Whether each use asks.
  public var confirms = false
  /// The bytes of its destinations, as they came; empty for any destination.
  public var destinations: [UInt8] = []
  /// The library that speaks to the security key, or ``SecurityKey/internalProvider``; nil for keys of other kinds.
  public var provider: String?

  /// No constraints.
  public init() {}

  /// Reads all of them.
  public init(_ bytes: RawSpan, _ reader: inout SSHReader) throws(Failure) {
    do {
      while !reader.isAtEnd {
        switch try reader.byte(bytes) {
        case 1:
          guard lifetime == nil else { throw Failure.malformed }
          lifetime = try reader.number(bytes)
        case 2:
          guard !confirms else { throw Failure.malformed }
          confirms = true
        case 255:
          switch try reader.text(bytes) {
          case "restrict-destination-v00@openssh.com":
            guard destinations.isEmpty else { throw Failure.malformed }
            destinations = try reader.octets(bytes)
            // A key without a destination would be one for every destination.
            guard
              try !DestinationConstraint.read(
                destinations.span.bytes, SSHReader(0..<destinations.count)
              ).isEmpty
            else { throw Failure.malformed }
          case "sk-provider@openssh.com":
            guard provider == nil else { throw Failure.malformed }
            provider = try reader.text(bytes)
          default: throw Failure.unknown
          }
        default: throw Failure.unknown
        }
      }
    } catch let failure as Failure { throw failure } catch { throw .malformed }
  }
}
