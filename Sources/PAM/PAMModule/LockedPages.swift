import CLatchkeyPAMModule

/// Memory pages for one secret: not swapped, not in a core dump, and erased before they are unmapped.
///
/// Not malloc: freed blocks keep their contents, and a lock or MADV_DONTDUMP works on whole pages only.
struct LockedPages: ~Copyable {
  let base: UnsafeMutableRawPointer
  /// Bytes.
  let size: Int
  private var isOwned = true

  /// Zeroed pages; nil when there is no memory.
  ///
  /// A refused mlock (a limit of zero) is accepted: libpam's own copy of the token lies in ordinary memory all the
  /// while, so a locked vault at every login would buy nothing.
  init?(size: Int) {
    guard let base = latchkey_map(size) else { return nil }
    _ = mlock(base, size)
    _ = madvise(base, size, MADV_DONTDUMP)
    self.init(adopting: base, size: size)
  }

  /// Takes over pages that `surrender` gave away.
  init(adopting base: UnsafeMutableRawPointer, size: Int) {
    self.base = base
    self.size = size
  }

  /// Gives the pages to the caller, who now has to erase them.
  consuming func surrender() -> UnsafeMutableRawPointer {
    isOwned = false
    return base
  }

  deinit {
    guard isOwned else { return }
    explicit_bzero(base, size)
    _ = munmap(base, size)  // This unlocks the pages as well.
  }
}
