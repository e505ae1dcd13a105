import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// The first bytes of a backup: how the passphrase becomes a key, and the commitment by which the right key is known. The whole
/// header is bound to every chunk that follows.
public struct BackupHeader: Equatable, Sendable {
  private static let magic = Array("LATCHBAK".utf8)
  private static let version: UInt32 = 1
  /// The header's size, in bytes.
  public static let size = 152
  /// Magic, version, id, time, derivation: the input of the commitment.
  private static let headSize = 8 + 4 + 16 + 8 + PassphraseDerivation.size

  /// 16 random bytes: no two backups have the same.
  public let id: [UInt8]
  /// When the backup was begun, in seconds since 1970.
  public let created: UInt64
  /// How the passphrase becomes a key.
  public let derivation: PassphraseDerivation
  /// The whole header.
  public let bytes: [UInt8]
  private let commitment: [UInt8]
  /// The stream's own header.
  let stream: [UInt8]

  /// The header of a new backup, whose passphrase gave `key`.
  static func make(
    id: [UInt8], created: UInt64, _ derivation: PassphraseDerivation, key: borrowing Key, stream: [UInt8]
  ) throws(SodiumError) -> BackupHeader {
    let head = head(id, created, derivation)
    return BackupHeader(
      id: id, created: created, derivation, commitment: try key.tag(.backupCommitment, [head]), stream: stream)
  }

  private init(
    id: [UInt8], created: UInt64, _ derivation: PassphraseDerivation, commitment: [UInt8], stream: [UInt8]
  ) {
    (self.id, self.created, self.derivation) = (id, created, derivation)
    (self.commitment, self.stream) = (commitment, stream)
    let all = BackupHeader.head(id, created, derivation) + commitment + stream
    bytes = all + Sodium.checksum(all.span.bytes)
  }

  private static func head(_ id: [UInt8], _ created: UInt64, _ derivation: PassphraseDerivation) -> [UInt8] {
    var out = ByteWriter()
    out.put(magic)
    out.number(version)
    out.put(id)
    out.number(created)
    derivation.encode(into: &out)
    return out.bytes
  }

  /// Reads a header. This computes only a check sum, and checks the cost of one guess of the passphrase.
  public init(decoding bytes: [UInt8]) throws(BackupError) {
    var input = ByteReader(bytes)
    do {
      guard try input.take(8) == BackupHeader.magic else { throw BackupError.notABackup }
      let version: UInt32 = try input.number()
      guard version <= BackupHeader.version else { throw BackupError.newer(version) }
      guard version == BackupHeader.version, bytes.count == BackupHeader.size else { throw BackupError.damagedHeader }
      let id = try input.take(16)
      let created: UInt64 = try input.number()
      guard let derivation = PassphraseDerivation(decoding: &input) else { throw BackupError.damagedHeader }
      let commitment = try input.take(32)
      self.init(
        id: id, created: created, derivation, commitment: commitment, stream: try input.take(SecretStream.headerSize))
    } catch let error as BackupError { throw error } catch { throw .damagedHeader }
    guard Sodium.equal(self.bytes, bytes) else { throw .damagedHeader }
    guard derivation.cost.isReasonable else { throw .unreasonable }
  }

  /// Whether `key` is the key of the backup's passphrase. The cipher alone does not commit to its key.
  public func recognises(_ key: borrowing Key) throws(SodiumError) -> Bool {
    Sodium.equal(try key.tag(.backupCommitment, [Array(bytes.prefix(BackupHeader.headSize))]), commitment)
  }

  /// The key of the chunks.
  static func streamKey(_ key: borrowing Key, id: [UInt8]) throws(SodiumError) -> Key {
    try key.derive(.backupStream, [id])
  }
}
