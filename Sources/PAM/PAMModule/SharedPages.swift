import CLatchkeyHelper
import CLatchkeyPAMModule

/// Memory that the module shares with the helper. The helper reads the secret there, so the secret goes through no socket.
///
/// The helper overwrites this memory as soon as it has read the request. This process overwrites it too, unless it leaves that to
/// the helper.
struct SharedPages: ~Copyable {
  static let size = Int(HELPER_MEMORY_SIZE)

  let base: UnsafeMutableRawPointer
  let descriptor: Int32
  /// False if the helper continues alone and may not have read the request yet.
  var isErased = true

  /// Makes zeroed pages; nil with errno if there is no memory. If mlock fails, this continues without it, as `LockedPages` does.
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
