import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// Reads a backup chunk by chunk. The records come from an author who knew the passphrase, in order and without gaps. If the
/// reader ``isWhole`` at the end, nothing is missing.
public struct BackupReader: ~Copyable {
  /// The longest chunk in the file, without its length in front, in bytes.
  public static let chunkLimit = BackupWriter.chunkLimit + SecretStream.overhead
  /// The longest record without its secret, in bytes: a vault's limits for label and attributes, and their lengths.
  public static let headLimit = 18 << 20
  /// The longest secret, in bytes, sealed for a device.
  public static let secretLimit = (32 << 20) + AEAD.overhead
  private static let prefixSize = 9

  private let header: BackupHeader
  private var opener: SecretStream.Opener
  private var chunks = 0
  private var buffer: SecureBytes
  private var available = 0
  private var position = 0

  private var prefix: [UInt8] = []
  private var kind = BackupRecord.Kind.beginning
  private var head: [UInt8] = []
  private var headSize = 0
  private var secret: SecureBytes
  private var secretFilled = 0

  private var hasBegun = false
  private var hasEnded = false
  private var collections: UInt32 = 0
  private var items: UInt64 = 0

  /// Begins to read.
  ///
  /// - Throws: ``BackupError/wrongPassphrase`` when `key` is another passphrase's.
  public init(_ header: BackupHeader, key: borrowing Key) throws(BackupError) {
    let isRight = try BackupError.sodium { () throws(SodiumError) in try header.recognises(key) }
    guard isRight else { throw .wrongPassphrase }
    let opener = try BackupError.sodium { () throws(SodiumError) in
      try SecretStream.Opener(key: try BackupHeader.streamKey(key, id: header.id), header: header.stream)
    }
    let buffer = try BackupError.sodium { () throws(SodiumError) in try SecureBytes(count: BackupWriter.chunkLimit) }
    let secret = try BackupError.sodium { () throws(SodiumError) in try SecureBytes(count: 0) }
    self.header = header
    self.opener = opener
    self.buffer = buffer
    self.secret = secret
  }

  /// Whether the last chunk and every record in it were read.
  public var isWhole: Bool { opener.isOver && hasEnded && position == available }

  /// Takes the next chunk, without its length. Call it only after ``next()`` returned nil.
  public mutating func take(_ chunk: RawSpan) throws(BackupError) {
    chunks += 1
    guard chunk.byteCount <= BackupReader.chunkLimit, !opener.isOver else { throw .damagedChunk(chunks) }
    do throws(SodiumError) {
      available = try opener.open(chunk, associated: header.bytes, into: &buffer)
    } catch { throw error == .outOfMemory ? .outOfMemory : .damagedChunk(chunks) }
    position = 0
  }

  /// The next record; nil if the next chunk is needed, or after the last record.
  public mutating func next() throws(BackupError) -> BackupRecord? {
    guard try readPrefix(), readHead(), readSecret() else {
      guard !opener.isOver || (hasEnded && prefix.isEmpty) else { throw .malformed(.backup(.endsWithinRecord)) }
      return nil
    }
    prefix = []
    return try record()
  }

  private mutating func readPrefix() throws(BackupError) -> Bool {
    if prefix.count == BackupReader.prefixSize { return true }
    if position < available, hasEnded { throw .malformed(.backup(.dataBehindEnd)) }
    prefix += plain(BackupReader.prefixSize - prefix.count)
    guard prefix.count == BackupReader.prefixSize else { return false }
    var input = ByteReader(prefix)
    guard let raw = try? input.number(UInt8.self), let kind = BackupRecord.Kind(rawValue: raw),
      let headSize = try? input.number(UInt32.self), let secretSize = try? input.number(UInt32.self)
    else { throw .malformed(.backup(.unknownRecord)) }
    guard headSize <= BackupReader.headLimit, secretSize <= BackupReader.secretLimit,
      kind == .item || secretSize == 0
    else { throw .malformed(.backup(.recordTooLarge)) }
    self.kind = kind
    (head, self.headSize) = ([], Int(headSize))
    secret = try BackupError.sodium { () throws(SodiumError) in try SecureBytes(count: Int(secretSize)) }
    secretFilled = 0
    return true
  }

  /// Up to `count` of the present bytes, for parts that are not secret.
  private mutating func plain(_ count: Int) -> [UInt8] {
    let size = min(count, available - position)
    defer { position += size }
    return buffer.bytes.extracting(position..<(position + size)).octets
  }

  private mutating func readHead() -> Bool {
    head += plain(headSize - head.count)
    return head.count == headSize
  }

  private mutating func readSecret() -> Bool {
    let size = min(secret.count - secretFilled, available - position)
    secret.write(position..<(position + size), of: buffer, at: secretFilled)
    position += size
    secretFilled += size
    return secretFilled == secret.count
  }

  private mutating func record() throws(BackupError) -> BackupRecord {
    guard hasBegun != (kind == .beginning) else { throw .malformed(.backup(.outOfOrder)) }
    var input = ByteReader(head)
    switch kind {
    case .beginning:
      guard let beginning = try? BackupBeginning(decoding: &input), input.remaining == 0 else { throw .badRecord }
      hasBegun = true
      return .beginning(beginning)
    case .collection:
      guard let collection = try? BackupCollection(decoding: &input), input.remaining == 0, collections < 1 << 16 else {
        throw .badRecord
      }
      collections += 1
      return .collection(collection)
    case .item:
      var taken = try BackupError.sodium { () throws(SodiumError) in try SecureBytes(count: 0) }
      swap(&taken, &secret)
      guard let item = BackupItem(decoding: &input, secret: taken), input.remaining == 0, item.collection < collections
      else { throw .badRecord }
      items += 1
      return .item(item)
    case .end:
      guard let allItems = try? input.number(UInt64.self), let allCollections = try? input.number(UInt32.self),
        input.remaining == 0, allItems == items, allCollections == collections
      else { throw .malformed(.backup(.wrongCount)) }
      hasEnded = true
      return .end(items: items, collections: collections)
    }
  }
}

extension BackupError {
  fileprivate static var badRecord: BackupError { .malformed(.backup(.malformed)) }
}
