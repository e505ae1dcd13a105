import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// Tier keys that the helper sends to the daemon, in ``UnlockWithTiers`` and ``Rotate``.
public struct TierDelivery: ~Copyable {
  /// The vault that the keys are for: 16 bytes.
  public let vault: [UInt8]
  /// The keybag's generation.
  public let generation: UInt64
  /// Whether the vault has just been created, so that the daemon may create the missing database.
  public let created: Bool
  /// Whether the sender's Argon2id did not erase its memory. Then the keys could be found in freed pages.
  public let leftMemory: Bool
  /// The keys.
  public let tiers: TierKeys
  /// The keys of former key epochs that the keybag still has, oldest first.
  public let former: [FormerTiers]

  private static let createdFlag: UInt8 = 1
  private static let leftMemoryFlag: UInt8 = 2
  // Vault, generation and flags, which come before the two keys.
  private static let headSize = 16 + 8 + 1
  // The key epoch's number and its two keys.
  private static let formerSize = 4 + 2 * Key.size
  static let size = headSize + 2 * Key.size

  /// Makes a value from its parts.
  public init(
    vault: [UInt8], generation: UInt64, created: Bool, leftMemory: Bool = false, tiers: consuming TierKeys,
    former: [FormerTiers] = []
  ) {
    self.vault = vault
    self.generation = generation
    self.created = created
    self.leftMemory = leftMemory
    self.tiers = tiers
    self.former = former
  }

  /// Gives the keys to another owner.
  public consuming func takeTiers() -> TierKeys { tiers }

  /// The bytes of `head`, and after them the bytes of the fields.
  borrowing func encoded(behind head: [UInt8]) throws(SodiumError) -> SecureBytes {
    var out = ByteWriter()
    out.put(head)
    out.put(vault)
    out.number(generation)
    out.number((created ? TierDelivery.createdFlag : 0) | (leftMemory ? TierDelivery.leftMemoryFlag : 0))
    let size = TierDelivery.size + former.count * TierDelivery.formerSize
    var packet = try SecureBytes(count: head.count + size)
    packet.write(out.bytes.span.bytes, at: 0)
    TierDelivery.write(tiers, at: out.bytes.count, of: &packet)
    var position = head.count + TierDelivery.size
    for one in former {
      var number = ByteWriter()
      number.number(one.number)
      packet.write(number.bytes.span.bytes, at: position)
      TierDelivery.write(one.tiers, at: position + 4, of: &packet)
      position += TierDelivery.formerSize
    }
    return packet
  }

  private static func write(_ tiers: borrowing TierKeys, at offset: Int, of packet: inout SecureBytes) {
    packet.write(tiers.unlocked.bytes, at: offset)
    packet.write(tiers.session.bytes, at: offset + Key.size)
  }

  /// Reads the fields; nil if they have another size.
  init?(decoding packet: RawSpan) {
    let formerCount = (packet.byteCount - TierDelivery.size) / TierDelivery.formerSize
    guard packet.byteCount >= TierDelivery.size, formerCount < Keybag.epochLimit,
      packet.byteCount == TierDelivery.size + formerCount * TierDelivery.formerSize
    else { return nil }
    var head = ByteReader(packet.extracting(first: TierDelivery.headSize).octets)
    let keys = packet.extracting(droppingFirst: TierDelivery.headSize)
    guard let vault = try? head.take(16), let generation = try? head.number(UInt64.self),
      let flags = try? head.number(UInt8.self)
    else { return nil }
    do {
      var former: [FormerTiers] = []
      for index in 0..<formerCount {
        let one = packet.extracting(droppingFirst: TierDelivery.size + index * TierDelivery.formerSize)
        former.append(
          FormerTiers(
            number: UInt32(littleEndian: one.unsafeLoadUnaligned(as: UInt32.self)),
            tiers: try TierDelivery.tiers(one.extracting(droppingFirst: 4))))
      }
      self.init(
        vault: vault, generation: generation, created: flags & TierDelivery.createdFlag != 0,
        leftMemory: flags & TierDelivery.leftMemoryFlag != 0, tiers: try TierDelivery.tiers(keys), former: former)
    } catch { return nil }
  }

  private static func tiers(_ bytes: RawSpan) throws(SodiumError) -> TierKeys {
    let unlocked = try Key(copying: bytes.extracting(first: Key.size))
    let session = try Key(copying: bytes.extracting(droppingFirst: Key.size).extracting(first: Key.size))
    return TierKeys(unlocked: unlocked, session: session)
  }
}
