import LatchkeySodium

/// A key that several parts of the vault refer to. The key is erased when its last holder drops it. To erase a class is to drop
/// the one reference that is kept for it.
final class HeldKey {
  let key: Key

  init(_ key: consuming Key) {
    self.key = key
  }
}
