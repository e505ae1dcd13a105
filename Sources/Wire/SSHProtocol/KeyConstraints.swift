import LatchkeySodium

/// The constraints that came with a key.
public struct KeyConstraints: Equatable, Sendable {
  /// The reason why constraints are refused.
  public enum Failure: Error {
    /// The constraints are damaged, or one of them occurs twice.
    case malformed
    /// This version does not know a constraint. The key must not be accepted without it.
    case unknown
  }

  /// The seconds after which the key is removed.
  public var lifetime: UInt32?
  /// Whether each use of the key asks the person.
  public var confirms = false
  /// The bytes of the allowed destinations, unchanged; empty for any destination.
  public var destinations: [UInt8] = []
  /// The library that speaks to the security key, or ``SecurityKey/internalProvider``; nil for keys of other kinds.
  public var provider: String?

  /// No constraints.
  public init() {}

  /// Reads all constraints.
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
            // An empty list would mean every destination, so it is refused.
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
