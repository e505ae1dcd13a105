import LatchkeySodium

/// The purpose of the tier keys in a ``TierMessage``.
package protocol TierPurpose {
  /// The message's number in a packet.
  static var operation: UInt8 { get }
}

/// The authentication that was announced before, by ``Hello``.
package enum ForUnlock: TierPurpose {
  package static let operation: UInt8 = 2
}

/// A keybag that was given new keys: from now on the newest are used.
package enum ForRotation: TierPurpose {
  package static let operation: UInt8 = 21
}

/// The tier keys that unlock.
package typealias UnlockWithTiers = TierMessage<ForUnlock>
/// The tier keys that the daemon takes over.
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
