import CLatchkeyHelper
import Glibc
import LatchkeyPosix
import LatchkeySodium

/// The memory in which the caller wrote its request. The memory is read once, and overwritten at the end of this value.
struct RequestMemory: ~Copyable {
  private let file: FileDescriptor

  private static let size = Int(HELPER_MEMORY_SIZE)
  private static let lengthSize = 4

  private init(_ file: consuming FileDescriptor) { self.file = file }

  deinit { erase() }

  /// Waits for the memory; nil if the caller sent anything else.
  static func receive(from channel: borrowing FileDescriptor) -> RequestMemory? { receive(from: channel.number) }

  /// Overwrites a request that is still in the channel, because its reader has ended. Waits for nothing.
  static func eraseUnread(in channel: Int32) {
    var entry = pollfd(fd: channel, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, 0) > 0 else { return }
    _ = receive(from: channel)
  }

  private static func receive(from channel: Int32) -> RequestMemory? {
    let number = helper_receive_memory(channel)
    guard number >= 0 else { return nil }
    let file = FileDescriptor(owning: number)
    // A file that has a name may belong to anybody, so it is not overwritten.
    guard let status = try? file.status(), status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 0,
      status.st_size == size
    else { return nil }
    return RequestMemory(file)
  }

  /// The request without its length; nil if its length is invalid.
  consuming func take() -> SecureBytes? {
    guard let length = read(RequestMemory.lengthSize, at: 0) else { return nil }
    let count = Int(UInt32(littleEndian: length.bytes.unsafeLoad(as: UInt32.self)))
    guard (1...Int(HELPER_REQUEST_LIMIT)).contains(count) else { return nil }
    return read(count, at: RequestMemory.lengthSize)
  }

  private borrowing func read(_ count: Int, at offset: Int) -> SecureBytes? {
    guard var bytes = try? SecureBytes(count: count) else { return nil }
    let number = file.number
    // The whole file is in memory, so the read is not interrupted and does not come in parts.
    let got = SystemCall.read(number, at: offset, into: bytes.mutableBytes)
    guard got == count else { return nil }
    return bytes
  }

  private borrowing func erase() {
    let zeros = [UInt8](repeating: 0, count: RequestMemory.size)
    _ = pwrite(file.number, zeros, zeros.count, 0)
  }
}
