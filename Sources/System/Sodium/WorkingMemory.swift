import CLatchkeySodium
import Glibc
import Synchronization

/// The memory in which Argon2id works. It is in no core dump, and is erased before it goes back to the kernel.
///
/// libsodium maps this memory, and unmaps it without erasing it. One hash of its last block is the derived key, and most kernels
/// keep the bytes of freed pages until their next use. A program that derives keys therefore links `ErasedMappings`, whose `mmap`
/// and `munmap` replace libc's for libsodium, and report the mapping to this type.
public enum WorkingMemory {
  /// The thread that derives a key now, by pthread's number, or 0.
  private static let thread = Atomic<UInt>(0)
  /// The size of the mapping that the thread is about to make, in bytes.
  private static let wanted = Atomic<Int>(0)
  /// The mapping, or 0.
  private static let start = Atomic<UInt>(0)
  private static let size = Atomic<Int>(0)

  /// The signals that the thread usually blocks, while ``willUnmap(_:)`` makes it block all. Only that thread uses this value.
  nonisolated(unsafe) private static var usualMask: sigset_t?

  /// The number of mappings that were erased.
  static let erasures = Atomic<Int>(0)

  /// The number of derivations whose memory was not erased, because libsodium did not get it from `ErasedMappings`.
  private static let left = Atomic<Int>(0)

  /// Whether a derivation of this process left its memory without erasing it.
  public static var wasLeft: Bool { left.load(ordering: .relaxed) > 0 }

  /// One derivation runs at a time: this type knows only one mapping, and a process never needs two.
  private static let turn = Locked(())

  /// Runs `body`, which maps and unmaps `count` bytes or a little more, if `succeeded` is true for its result. When `body` returns,
  /// no copy of the key is left. Signals are blocked from the unmapping until then.
  static func expect<Result, Failure: Error>(
    _ count: Int, succeeded: (Result) -> Bool = { _ in true }, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    turn.lock()
    defer { turn.unlock() }
    wanted.store(count, ordering: .relaxed)
    thread.store(pthread_self(), ordering: .sequentiallyConsistent)
    defer {
      thread.store(0, ordering: .sequentiallyConsistent)
      letSignalsIn()
    }
    let before = erasures.load(ordering: .relaxed)
    let result = try body()
    if succeeded(result), erasures.load(ordering: .relaxed) == before { left.add(1, ordering: .relaxed) }
    return result
  }

  /// Whether the calling thread maps this memory now.
  public static func isExpected(size count: Int) -> Bool {
    thread.load(ordering: .relaxed) == pthread_self() && start.load(ordering: .relaxed) == 0
      && count >= wanted.load(ordering: .relaxed)
  }

  /// Notes the expected mapping.
  public static func isMapped(at mapping: UnsafeMutableRawPointer, size count: Int) {
    size.store(count, ordering: .relaxed)
    start.store(UInt(bitPattern: mapping), ordering: .sequentiallyConsistent)
  }

  /// Erases the mapping at this address, if it is the working memory: it will be unmapped next.
  public static func willUnmap(_ mapping: UnsafeMutableRawPointer?) {
    let known = start.load(ordering: .relaxed)
    guard known != 0, known == UInt(bitPattern: mapping) else { return }
    // libsodium has the key on its heap and its stack by now, and a signal could come while the memory is erased.
    holdSignals()
    erase()
    erasures.add(1, ordering: .relaxed)
    start.store(0, ordering: .sequentiallyConsistent)
  }

  private static func holdSignals() {
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    if usualMask == nil, pthread_sigmask(SIG_BLOCK, &all, &before) == 0 { usualMask = before }
  }

  private static func letSignalsIn() {
    guard var mask = usualMask.take() else { return }
    pthread_sigmask(SIG_SETMASK, &mask, nil)
  }

  /// Call this before a signal may call ``erase()``.
  static func prepareErasure() { _ = (start.load(ordering: .relaxed), size.load(ordering: .relaxed)) }

  /// Erases a mapping. Its last block comes first, because one hash of that block is the key. Safe in a signal handler.
  static func erase() {
    let known = start.load(ordering: .sequentiallyConsistent)
    guard let mapping = UnsafeMutableRawPointer(bitPattern: known) else { return }
    let count = size.load(ordering: .relaxed)
    // libsodium maps a little more than Argon2id needs, so the last block ends before the mapping does.
    let end = min(65536, count)
    sodium_memzero(mapping + (count - end), end)
    sodium_memzero(mapping, count - end)
  }
}
