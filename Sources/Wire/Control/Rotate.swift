import LatchkeySodium

/// The tier keys of a keybag that was given new ones: from now on the newest are used.
package struct Rotate: KeyMessage, ~Copyable {
  package static let operation: UInt8 = 21
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

/// Asks whether keys could be rotated now. Declined where not.
package struct CheckMayRotate: FieldlessMessage {
  package typealias Answer = Done
  package static let operation: UInt8 = 22
  package init() {}
}

/// Asks for the oldest generation of tier keys that something in the vault depends on.
package struct GetNeededEpoch: FieldlessMessage {
  package typealias Answer = UInt32
  package static let operation: UInt8 = 23
  package init() {}
}
