// SecurityKeys: the conversation with `latchkey-security-key`.
//
// That program alone links libfido2. A program that needs a security key starts it for one question:
// to look which key is connected, to enroll it, or to answer a vault's challenge.
//
//     var question = SecurityKeyQuestion(.answer, keybag: keybag)
//     question.setPIN(pin)
//     let answer = try SecurityKeyProgram(path).ask(question) { show("Touch your security key.") }
//
// A program with an event loop uses ``SecurityKeyProgram/start(_:)`` instead, and can end the question
// before the answer is there (``RunningQuestion``).
//
// The question has the PIN in it, and the answer has 32 bytes that open the vault. Neither crosses a
// socket or a pipe, because the kernel frees those buffers without clearing them. Both lie in one piece
// of memory that the programs share (``SharedMemory``): the program reads the question, erases it, and
// writes the answer in its place. Its standard output is a pipe. One byte on that pipe says that the
// key waits for a touch, and the end of the pipe says that the answer is there.
//
// The module promises that PIN and answer are in locked memory, and that the shared memory is
// overwritten however the conversation ends. A program that dies, or writes anything that is no
// answer, is the outcome ``SecurityKeyOutcome/failed``. The outcomes are numbers with one fact each,
// so both programs say the same in every language.
//
// It knows neither keybags' keys nor sentences: the caller decides about an answer, and tells the
// person. It does not look for the program's package. docs/developer/protocols.md has the bytes.

import CLatchkeyHelper
import Glibc
import LatchkeyPosix
import LatchkeySodium

/// The memory of one conversation: a file without a name, locked and in no core dump.
public struct SharedMemory: ~Copyable {
  /// The size in bytes: whole pages, with room for the largest question.
  public static let size = Int(HELPER_MEMORY_SIZE)

  private let file: FileDescriptor
  private let start: UnsafeMutableRawPointer
  /// Whether this program began the conversation, and so overwrites the memory at the end.
  private let isOwn: Bool

  /// New memory, filled with zeros.
  init() throws(PosixError) {
    let number = helper_make_memory()
    guard number >= 0 else { throw PosixError("memfd_create") }
    try self.init(FileDescriptor(owning: number), isOwn: true)
  }

  /// The memory of a conversation that another program began, as standard input; nil for anything else.
  public init?(standardInput: Void) {
    let file = FileDescriptor(owning: dup(STDIN_FILENO))
    // A file with a name could be anybody's, and would be overwritten.
    guard let status = try? file.status(), status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 0,
      status.st_size == SharedMemory.size, let memory = try? SharedMemory(file, isOwn: false)
    else { return nil }
    self = memory
  }

  private init(_ file: consuming FileDescriptor, isOwn: Bool) throws(PosixError) {
    guard let start = helper_map_memory(file.number) else { throw PosixError("mmap") }
    self.file = file
    self.start = start
    self.isOwn = isOwn
  }

  deinit {
    if isOwn { explicit_bzero(start, SharedMemory.size) }
    munmap(start, SharedMemory.size)
  }

  /// The descriptor, lent.
  var number: Int32 { file.number }

  /// Replaces the content.
  mutating func write(_ bytes: borrowing SecureBytes) {
    erase()
    bytes.bytes.withUnsafeBytes { bytes in
      guard bytes.count <= SharedMemory.size, let from = bytes.baseAddress else { return }
      start.copyMemory(from: from, byteCount: bytes.count)
    }
  }

  /// Moves the content out of the shared memory.
  mutating func take() throws(SodiumError) -> SecureBytes {
    var content = try SecureBytes(count: SharedMemory.size)
    content.withUnsafeMutableBytes {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: start, count: SharedMemory.size))
    }
    erase()
    return content
  }

  private mutating func erase() { explicit_bzero(start, SharedMemory.size) }
}
