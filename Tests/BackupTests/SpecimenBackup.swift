import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

@testable import LatchkeyBackup

/// A backup that a test makes and reads. A fixed key replaces Argon2id's.
struct SpecimenBackup {
  static let id = [UInt8](repeating: 3, count: 16)
  static let uuid = [UInt8](repeating: 4, count: 16)
  static let beginning = BackupBeginning(
    vault: [UInt8](repeating: 1, count: 16),
    device: BackupDevice(identity: [UInt8](repeating: 2, count: 16), byKey: [5, 6], byShare: [7]))
  static let collection = BackupCollection(
    uuid: uuid, label: "Wörk", aliases: [.standard, .portal], hadPassphrase: true, created: 1_700_000_000)

  static func key(_ octet: UInt8 = 9) throws -> Key {
    try Sodium.initialize()
    return try Key(copying: [UInt8](repeating: octet, count: Key.size).span.bytes)
  }

  static func derivation(passes: UInt32 = 3, memory: UInt64 = 32 << 20) throws -> PassphraseDerivation {
    var out = ByteWriter()
    out.put([UInt8](repeating: 8, count: 16))
    out.number(passes)
    out.number(memory)
    var input = ByteReader(out.bytes)
    guard let derivation = PassphraseDerivation(decoding: &input) else { throw BackupError.damagedHeader }
    return derivation
  }

  static func writer(_ derivation: PassphraseDerivation) throws -> BackupWriter {
    try BackupWriter(id: id, created: 1_700_000_001, derivation, key: try key())
  }

  /// A secret of `size` bytes, the same in every run.
  static func secret(_ size: Int) -> [UInt8] { (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ size) } }

  static func item(_ size: Int, collection: UInt32 = 0, _ accessibility: AccessibilityClass = .whenUnlocked) throws
    -> BackupItem
  {
    BackupItem(
      collection: collection, accessibility: accessibility, created: 10, modified: 20,
      metadata: Array("item of \(size)".utf8), secret: try SecureBytes(copying: secret(size).span.bytes))
  }

  /// A whole backup with one item of each size. Its parts are the header and the chunks with their lengths.
  static func make(sizes: [Int], flushing: Bool = false) throws -> (header: [UInt8], chunks: [[UInt8]]) {
    var writer = try writer(try derivation())
    var chunks: [[UInt8]] = []
    func drain(_ writer: inout BackupWriter) {
      while let chunk = writer.chunk() { chunks.append(chunk) }
      if flushing, let chunk = writer.chunk(flushing: true) { chunks.append(chunk) }
    }
    writer.put(.beginning(beginning))
    drain(&writer)
    writer.put(.collection(collection))
    drain(&writer)
    for size in sizes {
      writer.put(.item(try item(size)))
      drain(&writer)
    }
    writer.finish()
    drain(&writer)
    return (writer.header.bytes, chunks)
  }

  /// Reads the backup: the sizes of the items, each of which is checked, and whether the backup is whole.
  static func read(_ header: [UInt8], _ chunks: [[UInt8]]) throws -> (sizes: [Int], isWhole: Bool) {
    var reader = try BackupReader(try BackupHeader(decoding: header), key: try key())
    var sizes: [Int] = []
    for chunk in chunks {
      try reader.take(chunk.span.bytes.extracting(droppingFirst: 4))
      while let record = try reader.next() {
        switch consume record {
        case .beginning(let read): guard read == beginning else { throw BackupError.malformed(.verbatim("beginning")) }
        case .collection(let read):
          guard read == collection else { throw BackupError.malformed(.verbatim("collection")) }
        case .item(let item):
          let size = item.secret.count
          guard item.metadata == Array("item of \(size)".utf8), item.created == 10, item.modified == 20,
            Sodium.equal(item.secret.bytes, secret(size).span.bytes)
          else { throw BackupError.malformed(.verbatim("item")) }
          sizes.append(size)
        case .end: break
        }
      }
    }
    return (sizes, reader.isWhole)
  }
}
