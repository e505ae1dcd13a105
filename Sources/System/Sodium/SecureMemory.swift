import CLatchkeySodium
import Glibc
import Synchronization

/// Locked, non-dumped memory for secrets.
///
/// `sodium_malloc` gives each allocation guard pages and a locked page of its own: four system calls and 4 KiB for a
/// key of 32 bytes. So small secrets share three such allocations, cut into slots; what fits in no free slot gets an
/// allocation of its own. A slot is erased before it is handed back.
enum SecureMemory {
  /// One allocation of libsodium, cut into equal slots.
  private struct Slab {
    let base: UnsafeMutableRawPointer
    let slotSize: Int
    let slots: Int
    var free: [UInt16]

    init?(slotSize: Int, slots: Int) {
      guard let base = SecureMemory.pages(slotSize * slots) else { return nil }
      self.base = base
      self.slotSize = slotSize
      self.slots = slots
      free = (0..<UInt16(slots)).reversed()
      SecureMemory.note(base, size: slotSize * slots)
    }

    func contains(_ pointer: UnsafeMutableRawPointer) -> Bool {
      pointer >= base && pointer < base + slotSize * slots
    }
  }

  /// The slabs, made at first use. The pointers in it are touched under the lock only.
  private struct Slabs: @unchecked Sendable {
    var slabs: [Slab] = []
  }

  ///
  /// Programs that use the client library may fork while another thread is in here, and the child goes on with both: so the
  /// lock is held over a fork, and it is pthread's, as `Mutex` remembers the number of a thread, which a fork changes.
  private static let slabs: Locked<Slabs> = {
    pthread_atfork({ SecureMemory.slabs.lock() }, { SecureMemory.slabs.unlock() }, { SecureMemory.slabs.unlock() })
    return Locked(Slabs())
  }()

  /// Slot sizes in bytes, smallest first, and how many of each: keys, hash states, ordinary secrets.
  private static let shape: [(size: Int, count: Int)] = [(64, 256), (512, 24), (4096, 6)]

  /// Zeroed memory of at least `count` bytes, aligned to 64. Nil when there is none.
  static func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
    let slot = slabs.withLock { state -> Address? in
      if state.slabs.isEmpty { state.slabs = shape.compactMap { Slab(slotSize: $0.size, slots: $0.count) } }
      for index in state.slabs.indices where state.slabs[index].slotSize >= count {
        guard let free = state.slabs[index].free.popLast() else { continue }
        let address = state.slabs[index].base + Int(free) * state.slabs[index].slotSize
        sodium_memzero(address, state.slabs[index].slotSize)
        return Address(pointer: address)
      }
      return nil
    }
    if let slot { return slot.pointer }
    guard count <= Int.max - 64 else { return nil }
    // Rounded up so that the start, not only the end, of the allocation is aligned.
    let size = (max(count, 1) + 63) & ~63
    guard let own = pages(size) else { return nil }
    sodium_memzero(own, size)
    note(own, size: size)
    return own
  }

  /// Erases and gives back what ``allocate(_:)`` gave.
  static func release(_ pointer: UnsafeMutableRawPointer) {
    let address = Address(pointer: pointer)
    let shared = slabs.withLock { state -> Bool in
      for index in state.slabs.indices where state.slabs[index].contains(address.pointer) {
        let slab = state.slabs[index]
        sodium_memzero(address.pointer, slab.slotSize)
        state.slabs[index].free.append(UInt16((address.pointer - slab.base) / slab.slotSize))
        return true
      }
      return false
    }
    guard !shared else { return }
    forget(pointer)
    sodium_free(pointer)
  }

  /// A pointer that may cross the lock's closure.
  private struct Address: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer
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

  /// Erases all allocations, in use or not. For a process about to end, as whoever uses them finds zeros. Safe in a signal
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
