import CLatchkeySodium
import Glibc
import Synchronization

/// Locked, non-dumped memory for secrets.
///
/// `sodium_malloc` gives each allocation guard pages and locked pages of its own. Such an allocation costs four mappings, of which
/// the kernel allows 65,530, and 4 KiB for a key of 32 bytes. So small secrets share such allocations, cut into slots
/// (``SecureSlabs``); a larger secret gets its own allocation. A slot is erased before it is returned.
enum SecureMemory {
  /// The slabs, made at first use. Their pointers are used under the lock only.
  ///
  /// A program that uses the client library may fork while another thread holds the lock, and the child then has the slabs and
  /// the lock. So fork takes the lock first. The lock is pthread's, because `Mutex` remembers the number of a thread, which a
  /// fork changes.
  private static let slabs: Locked<SecureSlabs> = {
    pthread_atfork({ SecureMemory.slabs.lock() }, { SecureMemory.slabs.unlock() }, { SecureMemory.slabs.unlock() })
    return Locked(SecureSlabs())
  }()

  /// Zeroed memory of at least `count` bytes, aligned to 64. The result is nil if there is no memory.
  static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
    let slot = slabs.withLock { state in state.take(count).map(Address.init) }
    if let slot { return slot.pointer }
    guard count <= Int.max - 64 else { return nil }
    // Rounded up so that the start, not only the end, of the allocation is aligned.
    return noted((max(count, 1) + 63) & ~63)
  }

  /// Erases and frees memory of ``allocate(_:)``.
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

  /// Erases and unmaps one allocation.
  static func free(_ pointer: UnsafeMutableRawPointer) {
    forget(pointer)
    sodium_free(pointer)
  }

  /// An allocation of libsodium. libsodium silently continues if the kernel refuses to lock it. So this function locks the memory
  /// once more, to see the error. A second lock of the same pages costs nothing.
  private static func pages(_ size: Int) -> UnsafeMutableRawPointer? {
    guard let pages = sodium_malloc(size) else { return nil }
    if sodium_mlock(pages, size) != 0 { refusals.add(1, ordering: .relaxed) }
    return pages
  }

  /// The number of allocations that the kernel refused to lock.
  static let refusals = Atomic<UInt64>(0)

  /// One allocation of libsodium, for ``eraseAll()``.
  private struct Place: ~Copyable {
    /// 0 for no allocation, 1 while one is being noted.
    let start = Atomic<UInt>(0)
    let size = Atomic<Int>(0)
  }

  /// A piece of the list of all allocations. A piece is added when all others are full, and stays.
  private struct Places: ~Copyable {
    let places = InlineArray<64, Place> { _ in Place() }
    /// The next piece, or 0.
    let next = Atomic<UInt>(0)

    /// The next piece; nil after the last one.
    var following: UnsafeMutablePointer<Places>? {
      UnsafeMutablePointer(bitPattern: next.load(ordering: .sequentiallyConsistent))
    }
  }

  /// The first piece. No piece ever leaves this list, so a signal may walk it at any moment.
  private static let first: PlacesAddress = {
    let pointer = UnsafeMutablePointer<Places>.allocate(capacity: 1)
    pointer.initialize(to: Places())
    return PlacesAddress(pointer: pointer)
  }()

  /// Everything behind the pointer is atomic.
  private struct PlacesAddress: @unchecked Sendable {
    let pointer: UnsafeMutablePointer<Places>
  }

  private static func note(_ base: UnsafeMutableRawPointer, size: Int) {
    var piece = first.pointer
    while !note(base, size: size, in: piece) { piece = piece.pointee.following ?? add(behind: piece) }
  }

  private static func note(
    _ base: UnsafeMutableRawPointer, size: Int, in piece: UnsafeMutablePointer<Places>
  ) -> Bool {
    for index in piece.pointee.places.indices where piece.pointee.places[index].start.load(ordering: .relaxed) == 0 {
      guard
        piece.pointee.places[index].start.compareExchange(expected: 0, desired: 1, ordering: .relaxed).exchanged
      else { continue }
      piece.pointee.places[index].size.store(size, ordering: .relaxed)
      piece.pointee.places[index].start.store(UInt(bitPattern: base), ordering: .sequentiallyConsistent)
      return true
    }
    return false
  }

  /// Adds a piece, unless another thread has just added one.
  private static func add(behind piece: UnsafeMutablePointer<Places>) -> UnsafeMutablePointer<Places> {
    let new = UnsafeMutablePointer<Places>.allocate(capacity: 1)
    new.initialize(to: Places())
    let (isAdded, other) = piece.pointee.next.compareExchange(
      expected: 0, desired: UInt(bitPattern: new), ordering: .sequentiallyConsistent)
    guard !isAdded, let present = UnsafeMutablePointer<Places>(bitPattern: other) else { return new }
    new.deinitialize(count: 1)
    new.deallocate()
    return present
  }

  /// Erases the noted allocation before its note is removed, so that a signal at any moment finds the note or erased memory.
  private static func forget(_ base: UnsafeMutableRawPointer) {
    var piece: UnsafeMutablePointer<Places>? = first.pointer
    while let known = piece {
      for index in known.pointee.places.indices
      where known.pointee.places[index].start.load(ordering: .relaxed) == UInt(bitPattern: base) {
        sodium_memzero(base, known.pointee.places[index].size.load(ordering: .relaxed))
        known.pointee.places[index].start.store(0, ordering: .sequentiallyConsistent)
        return
      }
      piece = known.pointee.following
    }
  }

  /// Call this before a signal may call ``eraseAll()``.
  static func prepareErasure() { _ = first.pointer }

  /// Erases all allocations, in use or not. Call this only in a process that is about to end, because users of the memory find
  /// zeros. Safe in a signal handler.
  static func eraseAll() {
    var piece: UnsafeMutablePointer<Places>? = first.pointer
    while let known = piece {
      for index in known.pointee.places.indices {
        let start = known.pointee.places[index].start.load(ordering: .sequentiallyConsistent)
        guard start > 1, let base = UnsafeMutableRawPointer(bitPattern: start) else { continue }
        sodium_memzero(base, known.pointee.places[index].size.load(ordering: .relaxed))
      }
      piece = known.pointee.following
    }
  }

  /// Whether the kernel really locks memory for this process. `sodium_malloc` returns memory even if the kernel did not lock
  /// it.
  static func canLock() -> Bool {
    let page = 4096
    guard let probe = sodium_malloc(page) else { return false }
    defer { sodium_free(probe) }
    return sodium_mlock(probe, page) == 0
  }
}
