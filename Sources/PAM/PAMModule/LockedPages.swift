import CLatchkeyPAMModule

/// Memory pages for one secret: not swapped, not in a core dump, and erased before they are unmapped.
///
/// malloc is no choice: freed blocks keep their contents, and mlock and MADV_DONTDUMP work only on whole pages.
struct LockedPages: ~Copyable {
  let base: UnsafeMutableRawPointer
  /// The size in bytes.
  let size: Int
  private var isOwned = true

  /// Makes zeroed pages; nil if there is no memory.
  ///
  /// If the limit of locked memory is zero, mlock fails, and this continues without it. Failing here would leave the vault locked
  /// at every login, and would gain nothing: libpam's own copy of the token is in ordinary memory anyway.
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
