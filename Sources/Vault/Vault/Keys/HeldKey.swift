import LatchkeySodium

/// A key that several parts of the vault refer to. The key is erased when its last holder drops it. A class keeps one reference to
/// each of its keys, so it erases a key when it drops that reference.
final class HeldKey {
  let key: Key

  init(_ key: consuming Key) {
    self.key = key
  }
}
