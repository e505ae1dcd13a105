import Bytes
import Keybag
import Sodium

/// Tier keys on their way from the helper to the daemon. In this form they cross the control socket, so sender and
/// receiver hold the packet in locked memory.
public struct TierDelivery: ~Copyable {
  /// The vault that the keys are for: 16 bytes.
  public let vault: [UInt8]
  /// The keybag's generation.
  public let generation: UInt64
  /// Whether the vault was founded just now, so that a missing database may be made.
  public let founded: Bool
  /// The keys.
  public let tiers: TierKeys

  // vault, generation, flags; in front of the two keys
  private static let headSize = 16 + 8 + 1
  static let size = headSize + 2 * Key.size

  /// Puts them together.
  public init(vault: [UInt8], generation: UInt64, founded: Bool, tiers: consuming TierKeys) {
    self.vault = vault
    self.generation = generation
    self.founded = founded
    self.tiers = tiers
  }

  /// Gives the keys on to another owner.
  public consuming func takeTiers() -> TierKeys { tiers }

  /// The packet's bytes, behind a version and an operation.
  borrowing func encoded(prefix: [UInt8]) throws(SodiumError) -> SecureBytes {
    var head = ByteWriter()
    head.put(prefix)
    head.put(vault)
    head.number(generation)
    head.number(UInt8(founded ? 1 : 0))
    var packet = try SecureBytes(count: prefix.count + TierDelivery.size)
    packet.write(head.bytes.span.bytes, at: 0)
    packet.write(tiers.unlocked.bytes, at: head.bytes.count)
    packet.write(tiers.session.bytes, at: head.bytes.count + Key.size)
    return packet
  }

  /// Reads what follows version and operation; nil for a packet of another size.
  init?(decoding packet: RawSpan) {
    guard packet.byteCount == TierDelivery.size else { return nil }
    var head = ByteReader(packet.extracting(first: TierDelivery.headSize).withUnsafeBytes { Array($0) })
    let keys = packet.extracting(droppingFirst: TierDelivery.headSize)
    guard let vault = try? head.take(16), let generation = try? head.number(UInt64.self),
      let flags = try? head.number(UInt8.self)
    else { return nil }
    do {
      self.init(
        vault: vault, generation: generation, founded: flags & 1 == 1,
        tiers: TierKeys(
          unlocked: try Key(copying: keys.extracting(first: Key.size)),
          session: try Key(copying: keys.extracting(droppingFirst: Key.size))))
    } catch { return nil }
  }
}
