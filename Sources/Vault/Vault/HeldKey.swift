import LatchkeySodium

/// A key that several parts of the vault refer to. It is erased when the last of them lets go; erasing a class means
/// that the one reference kept for it is dropped.
final class HeldKey {
  let key: Key

  init(_ key: consuming Key) {
    self.key = key
  }
}
