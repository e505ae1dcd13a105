import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySSHProtocol
import LatchkeySodium

/// A private key file of ssh in any format that ssh-keygen reads. ssh-keygen converts it to a key without a passphrase, in memory.
struct ForeignKey {
  /// More bytes are no file of a key.
  private static let limit = 1 << 20

  let path: String

  /// The key and its comment.
  func read() throws -> KeyFile.Contents {
    let copy = try memory()
    if let contents = try decoded(copy) { return contents }
    try convert(copy)
    guard let contents = try decoded(copy) else {
      throw Failure.file(
        translated(
          "\(path) has a key of a kind that the agent cannot use: it takes Ed25519, RSA, ECDSA and security keys."))
    }
    return contents
  }

  private func decoded(_ file: borrowing MemoryFile) throws -> KeyFile.Contents? {
    var bytes = try SecureBytes(count: try file.count())
    _ = try file.read(into: bytes.mutableBytes)
    return try? KeyFile.decode(bytes.bytes)
  }

  private func memory() throws -> MemoryFile {
    do {
      let file = try FileDescriptor.open(path, flags: O_RDONLY | O_NONBLOCK)
      let size = Int(try file.status().st_size)
      guard size <= Self.limit else { throw PosixError("read", code: EFBIG) }
      var bytes = try SecureBytes(count: size)
      let filled = try file.read(into: bytes.mutableBytes)
      let copy = try MemoryFile()
      try copy.write(bytes.bytes.extracting(first: filled))
      return copy
    } catch let error as PosixError {
      throw Failure.file(translated("\(path) cannot be read: \(String(cString: strerror(error.code)))."))
    }
  }

  /// ssh-keygen asks for the passphrase on the terminal by itself.
  private func convert(_ file: borrowing MemoryFile) throws {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let place: Int32 = 9
    posix_spawn_file_actions_adddup2(&actions, file.number, place)
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    let name = "/proc/self/fd/\(place)"
    let arguments: [String] = ["ssh-keygen", "-q", "-p", "-N", "", "-f", name]
    var words = arguments.map { strdup($0) } + [nil]
    defer { for word in words { free(word) } }
    var child: pid_t = 0
    let status = posix_spawnp(&child, "ssh-keygen", &actions, nil, &words, environ)
    guard status == 0 else {
      throw Failure.declined(translated("the program ssh-keygen cannot be run: \(String(cString: strerror(status)))."))
    }
    var end: Int32 = 0
    while waitpid(child, &end, 0) < 0 && errno == EINTR {}
    guard end == 0 else { throw Failure.file(translated("ssh-keygen could not read \(path).")) }
  }
}
