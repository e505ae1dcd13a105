import Foundation
import Synchronization

/// A secret's bytes in separate memory pages. They are locked if the kernel allows it, are in no core dump, and are erased at the
/// end.
///
/// The vault uses libsodium's memory for this (`SecureBytes`). But this library must not import a C module.
final class LockedBytes: @unchecked Sendable {  // Nobody writes to the pages after `init`.
  private let pages: UnsafeMutableRawPointer
  private let size: Int
  private let count: Int

  /// How many secrets the kernel refused to lock.
  static let lockFailures = Atomic<UInt64>(0)

  /// Copies bytes; nil if there is no memory.
  init?(copying data: Data) {
    let page = sysconf(Int32(_SC_PAGESIZE))
    size = (data.count + page - 1) / page * page
    count = data.count
    let flags = MAP_PRIVATE | MAP_ANONYMOUS
    guard let mapped = mmap(nil, size, PROT_READ | PROT_WRITE, flags, -1, 0), mapped != MAP_FAILED else { return nil }
    pages = mapped
    // The kernel refuses to lock pages if the limit of locked memory is used up. The pages can then be swapped out like ordinary
    // memory.
    if mlock(pages, size) != 0 { Self.lockFailures.add(1, ordering: .relaxed) }
    madvise(pages, size, MADV_DONTDUMP)
    data.withUnsafeBytes { if let start = $0.baseAddress { pages.copyMemory(from: start, byteCount: $0.count) } }
  }

  deinit {
    explicit_bzero(pages, size)
    munmap(pages, size)
  }

  /// The bytes, which are valid as long as this object lives.
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: pages, count: count) }
}
