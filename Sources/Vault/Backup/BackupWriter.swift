import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// Makes the bytes of a backup: a header, then chunks of bounded size, for records of any size. It holds one chunk and one
/// record at a time.
public struct BackupWriter: ~Copyable {
  /// The most plaintext in a chunk, in bytes. The sealed chunk fits a packet of the control socket.
  public static let chunkLimit = 32_000

  /// The first bytes of the file.
  public let header: BackupHeader
  private var sealer: SecretStream.Sealer
  private var buffer: SecureBytes
  private var filled = 0
  private var head: [UInt8] = []
  private var headWritten = 0
  private var secret: SecureBytes
  private var secretWritten = 0
  private var collections: UInt32 = 0
  private var items: UInt64 = 0
  private var isComplete = false
  /// Whether the last chunk was made.
  public private(set) var isOver = false

  /// Begins a backup.
  ///
  /// - Parameters:
  ///   - id: 16 random bytes.
  ///   - key: the key from the passphrase by `derivation`.
  public init(
    id: [UInt8], created: UInt64, _ derivation: PassphraseDerivation, key: borrowing Key
  ) throws(SodiumError) {
    let sealer = try SecretStream.Sealer(key: try BackupHeader.streamKey(key, id: id))
    let buffer = try SecureBytes(count: BackupWriter.chunkLimit)
    let secret = try SecureBytes(count: 0)
    header = try BackupHeader.make(id: id, created: created, derivation, key: key, stream: sealer.header)
    self.sealer = sealer
    self.buffer = buffer
    self.secret = secret
  }

  /// Whether all of the last record is in chunks already, or in the chunk that is being filled.
  public var wantsRecord: Bool { headWritten == head.count && secretWritten == secret.count && !isComplete }

  /// Adds the next record. Call it only if the writer ``wantsRecord``.
  public mutating func put(_ record: consuming BackupRecord) {
    switch consume record {
    case .beginning(let beginning): begin(.beginning, beginning.head, 0)
    case .collection(let collection):
      collections += 1
      begin(.collection, collection.head, 0)
    case .item(let item):
      items += 1
      begin(.item, item.head, item.secret.count)
      secret = item.takeSecret()
      secretWritten = 0
    case .end(let items, let collections):
      var out = ByteWriter()
      out.number(items)
      out.number(collections)
      begin(.end, out.bytes, 0)
      isComplete = true
    }
  }

  /// Adds the last record, which has the counts.
  public mutating func finish() { put(.end(items: items, collections: collections)) }

  private mutating func begin(_ kind: BackupRecord.Kind, _ content: [UInt8], _ secretSize: Int) {
    var out = ByteWriter(capacity: content.count + 9)
    out.number(kind.rawValue)
    out.number(UInt32(content.count))
    out.number(UInt32(secretSize))
    out.put(content)
    head = out.bytes
    headWritten = 0
  }

  /// The next chunk in the form of the file, which begins with the chunk's length. Nil while the chunk is not full. With
  /// `flushing`, or after the last record, the chunk need not be full.
  public mutating func chunk(flushing: Bool = false) -> [UInt8]? {
    guard !isOver else { return nil }
    fill()
    let isLast = isComplete && headWritten == head.count
    guard filled == BackupWriter.chunkLimit || isLast || (flushing && filled > 0) else { return nil }
    let sealed = sealer.seal(buffer, count: filled, associated: header.bytes, isLast: isLast)
    filled = 0
    isOver = isLast
    var out = ByteWriter(capacity: sealed.count + 4)
    out.long(sealed)
    return out.bytes
  }

  private mutating func fill() {
    let head = head
    let fromHead = min(head.count - headWritten, BackupWriter.chunkLimit - filled)
    buffer.write(head.span.bytes.extracting(headWritten..<(headWritten + fromHead)), at: filled)
    headWritten += fromHead
    filled += fromHead
    let fromSecret = min(secret.count - secretWritten, BackupWriter.chunkLimit - filled)
    buffer.write(secretWritten..<(secretWritten + fromSecret), of: secret, at: filled)
    secretWritten += fromSecret
    filled += fromSecret
  }
}
