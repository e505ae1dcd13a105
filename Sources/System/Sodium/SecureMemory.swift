import CLatchkeySodium
import Glibc
import Synchronization

/// Locked, non-dumped memory for secrets.
///
/// `sodium_malloc` gives each allocation guard pages and locked pages of its own: four mappings, of which the kernel allows
/// 65,530, and 4 KiB for a key of 32 bytes. So small secrets share such allocations, cut into slots (``SecureSlabs``); a
/// larger one gets an allocation of its own. A slot is erased before it is handed back.
enum SecureMemory {
  /// The slabs, made at first use. The pointers in it are touched under the lock only.
  ///
  /// Programs that use the client library may fork while another thread is in here, and the child goes on with both. So the
  /// lock is held over a fork. It is pthread's, because `Mutex` remembers the number of a thread, which a fork changes.
  private static let slabs: Locked<SecureSlabs> = {
    pthread_atfork({ SecureMemory.slabs.lock() }, { SecureMemory.slabs.unlock() }, { SecureMemory.slabs.unlock() })
    return Locked(SecureSlabs())
  }()

  /// Zeroed memory of at least `count` bytes, aligned to 64. Nil when there is none.
  static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
    let slot = slabs.withLock { state in state.take(count).map(Address.init) }
    if let slot { return slot.pointer }
    guard count <= Int.max - 64 else { return nil }
    // Rounded up so that the start, not only the end, of the allocation is aligned.
    return noted((max(count, 1) + 63) & ~63)
  }

  /// Erases and gives back what ``allocate(_:)`` gave.
  static func release(_ pointer: UnsafeMutableRawPointer) {
    let address = Address(pointer: pointer)
    guard !slabs.withLock({ state in state.giveBack(address.pointer) }) else { return }
    free(pointer)
  }

  /// A pointer that may cross the lock's closure.
  private struct Address: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer
  }

  /// A zeroed allocation of libsodium that ``eraseAll()`` finds.
  static func noted(_ size: Int) -> UnsafeMutableRawPointer? {
    guard let own = pages(size) else { return nil }
    sodium_memzero(own, size)
    note(own, size: size)
    return own
  }

  /// Erases and unmaps one.
  static func free(_ pointer: UnsafeMutableRawPointer) {
    forget(pointer)
    sodium_free(pointer)
  }

  /// An allocation of libsodium. It goes on silently where the kernel refuses to lock it, so that is asked for once more:
  /// pages that are locked already cost nothing then.
  private static func pages(_ size: Int) -> UnsafeMutableRawPointer? {
    guard let pages = sodium_malloc(size) else { return nil }
    if sodium_mlock(pages, size) != 0 { refusals.add(1, ordering: .relaxed) }
    return pages
  }

  /// How many allocations the kernel refused to lock.
  static let refusals = Atomic<UInt64>(0)

  /// One allocation of libsodium, for ``eraseAll()``.
  private struct Place: ~Copyable {
    /// 0 for none, 1 while it is being noted.
    let start = Atomic<UInt>(0)
    let size = Atomic<Int>(0)
  }

  /// The slabs, and as many larger secrets as a program that derives keys ever has, many times over.
  private static let places = InlineArray<64, Place> { _ in Place() }

  private static func note(_ base: UnsafeMutableRawPointer, size: Int) {
    for index in places.indices {
      guard places[index].start.compareExchange(expected: 0, desired: 1, ordering: .relaxed).exchanged else { continue }
      places[index].size.store(size, ordering: .relaxed)
      places[index].start.store(UInt(bitPattern: base), ordering: .sequentiallyConsistent)
      return
    }
  }

  /// Erases what was noted, so that no moment is left in which a signal finds neither.
  private static func forget(_ base: UnsafeMutableRawPointer) {
    for index in places.indices where places[index].start.load(ordering: .relaxed) == UInt(bitPattern: base) {
      sodium_memzero(base, places[index].size.load(ordering: .relaxed))
      places[index].start.store(0, ordering: .sequentiallyConsistent)
      return
    }
  }

  /// To be called before a signal may call ``eraseAll()``.
  static func prepareErasure() { _ = places[0].start.load(ordering: .relaxed) }

  /// Erases all allocations, in use or not. For a process about to end, because their users find zeros. Safe in a signal
  /// handler.
  static func eraseAll() {
    for index in places.indices {
      guard let base = UnsafeMutableRawPointer(bitPattern: places[index].start.load(ordering: .sequentiallyConsistent)),
        places[index].start.load(ordering: .relaxed) > 1
      else { continue }
      sodium_memzero(base, places[index].size.load(ordering: .relaxed))
    }
  }

  /// Whether the kernel really locks memory for this process. `sodium_malloc` goes on without when it does not.
  static func canLock() -> Bool {
    let page = 4096
    guard let probe = sodium_malloc(page) else { return false }
    defer { sodium_free(probe) }
    return sodium_mlock(probe, page) == 0
  }
}
