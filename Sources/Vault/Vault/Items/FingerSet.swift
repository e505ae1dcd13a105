import LatchkeyBytes
import LatchkeyReasons
import LatchkeySodium

/// The fingers that were enrolled when an item got the condition `biometryCurrentSet`: a hash of the readers' names, and a hash of
/// the fingers' names. Nothing here depends on the prints themselves.
public struct FingerSet: Hashable, Sendable {
  /// The hash of the readers.
  let readers: [UInt8]
  /// The hash of the fingers of each reader.
  let fingers: [UInt8]
  /// Whether no finger is enrolled.
  public let isEmpty: Bool

  /// The size of a set in an item, in bytes.
  static let size = 64

  /// Makes the set from the names of readers and the fingers that each of them knows. Their order makes no difference.
  ///
  /// - Throws: ``VaultError/outOfMemory``.
  public init(_ all: [(name: String, fingers: [String])]) throws(VaultError) {
    let sorted = all.map { (Array($0.name.utf8), $0.fingers.map { Array($0.utf8) }.sorted(by: FingerSet.precedes)) }
      .sorted { one, other in
        guard one.0 == other.0 else { return FingerSet.precedes(one.0, other.0) }
        return one.1.lexicographicallyPrecedes(other.1, by: FingerSet.precedes)
      }
    do throws(SodiumError) {
      var readers = try KeyedHash()
      var fingers = try KeyedHash()
      readers.update("latchkey/1/readers")
      fingers.update("latchkey/1/fingers")
      for (name, names) in sorted {
        readers.update(name.span.bytes)
        fingers.update(name.span.bytes)
        var count = ByteWriter()
        count.number(UInt64(names.count))
        fingers.update(count.bytes.span.bytes)
        for name in names { fingers.update(name.span.bytes) }
      }
      self.readers = readers.tag()
      self.fingers = fingers.tag()
    } catch { throw .outOfMemory }
    isEmpty = all.allSatisfy { $0.fingers.isEmpty }
  }

  private static func precedes(_ one: [UInt8], _ other: [UInt8]) -> Bool { one.lexicographicallyPrecedes(other) }

  /// Reads the set that an item remembers. There is no set without fingers.
  init(decoding input: inout ByteReader) throws(ByteReader.Truncated) {
    readers = try input.take(32)
    fingers = try input.take(32)
    isEmpty = false
  }

  var encoded: [UInt8] { readers + fingers }

  /// How the present set differs from the set that an item remembers.
  public enum Change: Equatable, Sendable {
    /// Both are the same.
    case none
    /// The readers differ, so nothing can be said of the fingers.
    case otherReaders
    /// The same readers have no finger. fprintd also says so if it cannot read its files.
    case noFingers
    /// The same readers have other fingers.
    case otherFingers
  }

  /// The difference between this set and `present`.
  func change(to present: FingerSet) -> Change {
    guard readers == present.readers else { return .otherReaders }
    guard fingers != present.fingers else { return .none }
    return present.isEmpty ? .noFingers : .otherFingers
  }
}

extension FingerSet.Change {
  /// The reason why an item is locked, with a remedy; nil if it is not locked.
  public var reason: Reason? {
    switch self {
    case .none: nil
    case .otherReaders:
      .finger(.otherReaders)
    case .noFingers:
      .finger(.noFinger)
    case .otherFingers:
      .finger(.otherFingers)
    }
  }
}
