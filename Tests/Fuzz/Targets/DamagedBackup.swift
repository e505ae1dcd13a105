import LatchkeyBytes
import LatchkeySodium

@testable import LatchkeyBackup
@testable import LatchkeyKeybag
@testable import LatchkeyVault

/// Backups of an attacker without the passphrase, and of an attacker who has it. The first byte of an input chooses the
/// kind. 0 is a header, and 1 is a header with a valid check sum. 2 is raw chunks, and other values are the content of
/// valid chunks.
extension Target {
  private final class MakerBox {
    let key: Key
    let vault: Vault
    init(_ key: consuming Key, _ vault: Vault) {
      self.key = key
      self.vault = vault
    }
  }

  static func backups() -> ([UInt8]) -> Void {
    guard let key = try? Key.random(), let vault = try? Vault(inMemoryWithLabel: "Login") else {
      fatalError("no vault in memory")
    }
    let box = MakerBox(key, vault)
    return { input in
      guard let mode = input.first else { return }
      let rest = Array(input.dropFirst())
      switch mode {
      case 0, 1: header(mode == 1 ? rest + Sodium.checksum(rest.span.bytes) : rest)
      default: chunks(rest, isPlain: mode > 2, size: Int(mode), box)
      }
    }
  }

  private static func header(_ bytes: [UInt8]) {
    guard let header = try? BackupHeader(decoding: bytes) else { return }
    if header.bytes != bytes { fatalError("a header is written otherwise than it was read") }
    if !header.derivation.cost.isReasonable { fatalError("cost") }
  }

  private static func chunks(_ bytes: [UInt8], isPlain: Bool, size: Int, _ box: MakerBox) {
    do {
      let id = [UInt8](repeating: 3, count: 16)
      var sealer = try SecretStream.Sealer(key: try BackupHeader.streamKey(box.key, id: id))
      let header = try BackupHeader.make(id: id, created: 1, .make(), key: box.key, stream: sealer.header)
      var reader = try BackupReader(header, key: box.key)
      let restore = try Restore(box.vault, id: id, takingTheirs: size.isMultiple(of: 2), isDry: false)
      guard isPlain else { return try reader.take(bytes.span.bytes) }
      var position = 0
      repeat {
        let end = min(position + size, bytes.count)
        let part = try SecureBytes(copying: bytes.span.bytes.extracting(position..<end))
        let chunk = sealer.seal(part, count: part.count, associated: header.bytes, isLast: end == bytes.count)
        try reader.take(chunk.span.bytes)
        while let record = try reader.next() { try restore.take(record) }
        position = end
      } while position < bytes.count
      if !reader.isWhole { fatalError("a backup that was read to its end is not whole") }
    } catch let error as VaultError {
      if case .damaged = error { fatalError("a backup is taken for damage of the vault") }
    } catch {}
  }

  /// A header, and the records of a small backup.
  func backupSeeds() throws -> [[UInt8]] {
    let item = ItemMetadata(label: "Mail", attributes: ["service": "mail"], contentType: "text/plain")
    let metadata = item.encoded(revision: [UInt8](repeating: 0, count: 16))
    func record(_ kind: BackupRecord.Kind, _ head: [UInt8], _ secret: [UInt8] = []) -> [UInt8] {
      var out = ByteWriter()
      out.number(kind.rawValue)
      out.number(UInt32(head.count))
      out.number(UInt32(secret.count))
      out.put(head + secret)
      return out.bytes
    }
    let device = BackupDevice(
      identity: [UInt8](repeating: 2, count: 16), byKey: [UInt8](repeating: 0, count: 72), byShare: [1])
    var records = record(.beginning, BackupBeginning(vault: [UInt8](repeating: 1, count: 16), device: device).head)
    for (label, aliases) in [("Login", BackupCollection.Aliases.login), ("Work", [])] {
      let uuid = Sodium.randomBytes(16)
      records += record(
        .collection,
        BackupCollection(uuid: uuid, label: label, aliases: aliases, hadPassphrase: true, created: 1).head)
    }
    for accessibility in AccessibilityClass.allCases where accessibility.backupSealing != nil {
      let made = BackupItem(
        collection: UInt32(accessibility.rawValue % 2), accessibility: accessibility, created: 1, modified: 2,
        metadata: metadata, secret: try SecureBytes(count: 0))
      records += record(.item, made.head, Array("secret".utf8))
    }
    var end = ByteWriter()
    end.number(UInt64(6))
    end.number(UInt32(2))
    records += record(.end, end.bytes)
    let key = try Key.random()
    let sealer = try SecretStream.Sealer(key: key)
    let header = try BackupHeader.make(
      id: Sodium.randomBytes(16), created: 1, .make(), key: key, stream: sealer.header)
    return [[0] + header.bytes, [1] + header.bytes.dropLast(32), [200] + records, [7] + records, [2] + records]
  }
}
