import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// The values of the vault's row that tier key C protects: the index key and the database's generation. They are sealed
/// together, so that only the vault's keys can set the generation.
struct SealedIndex {
  let index: AttributeIndex
  /// The database's generation. It grows by one each time that keys were taken over and the device key service answered; 0 in
  /// older databases.
  let generation: UInt64

  init(_ index: AttributeIndex, generation: UInt64) {
    self.index = index
    self.generation = generation
  }

  /// Opens a value of ``sealed(under:vault:)``.
  init(opening sealed: [UInt8], key: borrowing Key, vault: [UInt8]) throws(SodiumError) {
    let content = try AEAD.open(sealed.span.bytes, key: key, associated: vault)
    guard content.count == Key.size || content.count == Key.size + 8 else { throw .badArgument }
    index = AttributeIndex(try Key(copying: content.bytes.extracting(first: Key.size)))
    generation =
      content.count == Key.size
      ? 0 : UInt64(littleEndian: content.bytes.unsafeLoadUnaligned(fromByteOffset: Key.size, as: UInt64.self))
  }

  /// The sealed value for the column `index_key` of table `vault`.
  func sealed(under wrap: borrowing Key, vault: [UInt8]) throws(VaultError) -> [UInt8] {
    var number = ByteWriter()
    number.number(generation)
    return try index.withKey { key throws(VaultError) in
      var content: SecureBytes
      do throws(SodiumError) { content = try SecureBytes(count: Key.size + 8) } catch { throw .outOfMemory }
      content.write(key.bytes, at: 0)
      content.write(number.bytes.span.bytes, at: Key.size)
      return AEAD.seal(content.bytes, key: wrap, associated: vault)
    }
  }
}
