import LatchkeySodium

/// The purpose of the tier keys in a ``TierMessage``.
package protocol TierPurpose {
  /// The message's number in a packet.
  static var operation: UInt8 { get }
}

/// For the authentication that a ``Hello`` has announced.
package enum ForUnlock: TierPurpose {
  package static let operation: UInt8 = 2
}

/// For a keybag that got new keys. From now on the daemon uses the newest keys.
package enum ForRotation: TierPurpose {
  package static let operation: UInt8 = 21
}

/// The tier keys that unlock the vault.
package typealias UnlockWithTiers = TierMessage<ForUnlock>
/// The tier keys of a rotation, which the daemon uses from now on.
package typealias Rotate = TierMessage<ForRotation>

/// The tier keys of a keybag.
package struct TierMessage<Purpose: TierPurpose>: KeyMessage, ~Copyable {
  package static var operation: UInt8 { Purpose.operation }
  /// The keys.
  package let delivery: TierDelivery

  package init(_ delivery: consuming TierDelivery) { self.delivery = delivery }

  package init?(decoding fields: RawSpan) {
    guard let delivery = TierDelivery(decoding: fields) else { return nil }
    self.init(delivery)
  }

  package borrowing func encoded(behind head: [UInt8]) throws(SodiumError) -> SecureBytes {
    try delivery.encoded(behind: head)
  }

  /// Gives the keys on to another owner.
  package consuming func take() -> TierDelivery { delivery }
}
