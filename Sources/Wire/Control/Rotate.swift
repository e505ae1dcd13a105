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
