import LatchkeySodium

/// A key that several parts of the vault refer to. The key is erased when its last holder drops it. A class is erased when the one
/// reference that is kept for it is dropped.
final class HeldKey {
  let key: Key

  init(_ key: consuming Key) {
    self.key = key
  }
}
