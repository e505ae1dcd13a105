import CLatchkeyHelper
import Glibc
import LatchkeyPosix
import LatchkeySodium

/// The memory in which latchkey-derive gets a request, so that the request's secrets go through no socket. Both programs erase it.
struct RequestMemory: ~Copyable {
  private let file: FileDescriptor
  private let start: UnsafeMutableRawPointer

  private static let size = Int(HELPER_MEMORY_SIZE)

  /// Writes `request`, which begins with its length, into new memory.
  init(_ request: borrowing SecureBytes) throws(PosixError) {
    guard request.count <= RequestMemory.size else { throw PosixError("request", code: EMSGSIZE) }
    let number = helper_make_memory()
    guard number >= 0 else { throw PosixError("memfd_create") }
    let file = FileDescriptor(owning: number)
    guard let start = helper_map_memory(number) else { throw PosixError("mmap") }
    request.bytes.withUnsafeBytes { bytes in
      if let from = bytes.baseAddress { start.copyMemory(from: from, byteCount: bytes.count) }
    }
    self.file = file
    self.start = start
  }

  /// Gives the memory to the helper at the other end of `channel`. If the helper has already ended, nothing happens.
  borrowing func give(over channel: borrowing FileDescriptor) { _ = helper_send_memory(channel.number, file.number) }

  deinit {
    explicit_bzero(start, RequestMemory.size)
    munmap(start, RequestMemory.size)
  }
}
