// SecurityKeys: the conversation with `latchkey-security-key`.
//
// Only that program links libfido2. A program that needs a security key starts it for one question: to
// see which key is connected, to enroll a key, or to answer a vault's challenge.
//
//     var question = SecurityKeyQuestion(.answer, keybag: keybag)
//     question.setPIN(pin)
//     let answer = try SecurityKeyProgram(path).ask(question) { show("Touch your security key.") }
//
// A program with an event loop uses ``SecurityKeyProgram/start(_:)`` instead, and can end the question
// before its answer (``RunningQuestion``).
//
// The question contains the PIN, and the answer has 32 bytes that unlock the vault. Neither goes
// through a socket or a pipe, because the kernel frees such buffers without clearing them. Both are in
// memory that the two programs share (``SharedMemory``). `latchkey-security-key` reads the question,
// erases it, and writes the answer to the same place. Its standard output is a pipe. One byte on that
// pipe says that the key waits for a touch, and the end of the pipe says that the answer is there.
//
// The module promises that PIN and answer are in locked memory, and that the shared memory is always
// overwritten at the end of the conversation. If the program crashes or writes an invalid answer, the
// outcome is ``SecurityKeyOutcome/failed``. An outcome is a number with one meaning, so it does not
// depend on a language.
//
// It knows no keys of a keybag and has no sentences: the caller judges an answer, and talks to the
// person. It does not check whether the program's package is installed. docs/developer/protocols.md has
// the bytes.

import CLatchkeyHelper
import Glibc
import LatchkeyPosix
import LatchkeySodium

/// The memory of one conversation. It is a file without a name, which is locked in memory and in no core dump.
public struct SharedMemory: ~Copyable {
  /// The size in bytes: whole pages, with room for the largest question.
  public static let size = Int(HELPER_MEMORY_SIZE)

  private let file: FileDescriptor
  private let start: UnsafeMutableRawPointer
  /// Whether this program began the conversation. Such a program overwrites the memory at the end.
  private let isOwn: Bool

  /// New memory, filled with zeros.
  init() throws(PosixError) {
    let number = helper_make_memory()
    guard number >= 0 else { throw PosixError("memfd_create") }
    try self.init(FileDescriptor(owning: number), isOwn: true)
  }

  /// Takes the memory of a conversation that another program began and passed as standard input; nil if standard input is anything
  /// else.
  public init?(standardInput: Void) {
    let file = FileDescriptor(owning: dup(STDIN_FILENO))
    // A file that has a name could belong to anybody, and this program would overwrite it.
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

  /// The number of the descriptor, which this object keeps.
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
