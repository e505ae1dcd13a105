import LatchkeyBytes
import LatchkeyReasons
import LatchkeySodium

/// Which fingers were enrolled at some moment, as an item remembers it (`biometryCurrentSet`): a hash of the readers' names,
/// and one of the fingers' names. Nothing reveals which prints belong to the names.
public struct FingerSet: Hashable, Sendable {
  /// The readers that there were.
  let readers: [UInt8]
  /// The fingers of each.
  let fingers: [UInt8]
  /// Whether no finger is enrolled.
  public let isEmpty: Bool

  /// How many bytes it has in an item.
  static let size = 64

  /// Takes what readers are called, and which fingers each of them knows. In what order they came makes no difference.
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

  /// Reads what an item remembers. Of no fingers none is made.
  init(decoding input: inout ByteReader) throws(ByteReader.Truncated) {
    readers = try input.take(32)
    fingers = try input.take(32)
    isEmpty = false
  }

  var encoded: [UInt8] { readers + fingers }

  /// How a set that is there now stands to one that an item remembers.
  public enum Change: Equatable, Sendable {
    /// It is the same.
    case none
    /// There are other readers, so that nothing can be said of the fingers.
    case otherReaders
    /// The same readers have no finger. fprintd says so as well where it cannot read what it stored.
    case noFingers
    /// The same readers have other fingers.
    case otherFingers
  }

  /// How `present` differs from this one.
  func change(to present: FingerSet) -> Change {
    guard readers == present.readers else { return .otherReaders }
    guard fingers != present.fingers else { return .none }
    return present.isEmpty ? .noFingers : .otherFingers
  }
}

extension FingerSet.Change {
  /// Why an item is locked, and what to do; nil where it is not.
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
