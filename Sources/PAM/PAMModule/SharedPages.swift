import CLatchkeyHelper
import CLatchkeyPAMModule

/// The memory that is shared with the helper. The helper reads the secret in place, so the secret crosses no socket.
///
/// The helper overwrites this memory as soon as it has read the request. This process does so as well, unless it left that to
/// the helper.
struct SharedPages: ~Copyable {
  static let size = Int(HELPER_MEMORY_SIZE)

  let base: UnsafeMutableRawPointer
  let descriptor: Int32
  /// False if a helper may not have read the request yet, and goes on.
  var isErased = true

  /// Zeroed pages; nil with errno when there are none. A refused mlock is accepted, as it is by `LockedPages`.
  init?() {
    var descriptor = helper_make_memory()
    guard descriptor >= 0 else { return nil }
    guard Helper.lift(&descriptor), let base = helper_map_memory(descriptor) else {
      let error = latchkey_errno()
      _ = close(descriptor)
      latchkey_set_errno(error)
      return nil
    }
    self.base = base
    self.descriptor = descriptor
  }

  deinit {
    if isErased { explicit_bzero(base, SharedPages.size) }
    _ = munmap(base, SharedPages.size)  // This unlocks the pages as well.
    _ = close(descriptor)
  }
}
