import Foundation
import Synchronization
import Testing

@testable import LatchkeyErasedMappings
@testable import LatchkeySodium

/// A file that a process maps as Argon2id's memory is mapped, so that the test can read its bytes after the mapping.
private struct MappedFile {
  static let size = 1 << 20
  static let filling: UInt8 = 0xA5
  let path: String

  /// Maps the file as libraries do, and fills it.
  func map() throws -> UnsafeMutableRawPointer { try map(at: nil, size: MappedFile.size, flags: MAP_SHARED) }

  /// Maps the file over the whole pages of some memory, and fills it.
  func take(the memory: UnsafeMutableRawPointer, size: Int) throws {
    let page = 4096
    let start = (UInt(bitPattern: memory) + UInt(page - 1)) & ~UInt(page - 1)
    let whole = (size - Int(start - UInt(bitPattern: memory))) & ~(page - 1)
    try #require((page...MappedFile.size).contains(whole))
    _ = try map(at: UnsafeMutableRawPointer(bitPattern: start), size: whole, flags: MAP_SHARED | MAP_FIXED)
  }

  private func map(
    at address: UnsafeMutableRawPointer?, size: Int, flags: Int32
  ) throws -> UnsafeMutableRawPointer {
    let file = open(path, O_RDWR)
    defer { close(file) }
    let mapping = try #require(mmap(address, size, PROT_READ | PROT_WRITE, flags, file, 0))
    try #require(mapping != UnsafeMutableRawPointer(bitPattern: -1))
    memset(mapping, Int32(MappedFile.filling), size)
    return mapping
  }

  /// The different bytes in the file.
  func bytes() throws -> Set<UInt8> { Set(try Data(contentsOf: URL(fileURLWithPath: path))) }

  /// Runs `body` with a new mapped file.
  static func with(_ body: (MappedFile) async throws -> Void) async throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("latchkey-\(UUID().uuidString)").path
    try Data(count: size).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    try await body(MappedFile(path: path))
  }
}

/// Calls itself until the stack is full.
@inline(never) private func depth(below level: Int) -> Int {
  withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { room in
    room.storeBytes(of: level, as: Int.self)
    return level < 0 ? room.load(as: Int.self) : depth(below: level + 1) + room.load(as: Int.self)
  }
}

@Suite("Argon2id's memory")
struct WorkingMemoryTests {
  init() throws { try Sodium.initialize() }

  @Test("Each mapping that libsodium made for Argon2id is erased")
  func everyDerivation() throws {
    for round in 1...3 {
      let before = WorkingMemory.erasures.load(ordering: .relaxed)
      _ = try PasswordHash.derive(password: [UInt8(1)].span.bytes, salt: Array(0...15), passes: 1, memory: 1 << 20)
      #expect(WorkingMemory.erasures.load(ordering: .relaxed) > before, "round \(round)")
    }
  }

  @Test("A derivation in other memory is noticed, and a failed one is ignored")
  func elsewhere() async {
    await #expect(processExitsWith: .success) {
      try Sodium.initialize()
      _ = try PasswordHash.derive(password: [UInt8(1)].span.bytes, salt: Array(0...15), passes: 1, memory: 1 << 20)
      _ = WorkingMemory.expect(1 << 20, succeeded: { $0 }) { false }
      guard !WorkingMemory.wasLeft else { exit(1) }
      WorkingMemory.expect(1 << 20) {}
      exit(WorkingMemory.wasLeft ? 0 : 2)
    }
  }

  @Test("Argon2id's memory is erased before it is unmapped")
  func unmapping() async throws {
    try await MappedFile.with { file in
      try WorkingMemory.expect(MappedFile.size) {
        let mapping = try file.map()
        #expect(munmap(mapping, MappedFile.size) == 0)
      }
      #expect(try file.bytes() == [0])
    }
  }

  @Test("Other memory is left alone")
  func otherMemory() async throws {
    try await MappedFile.with { file in
      // Mappings of another size and of another thread do not count.
      try WorkingMemory.expect(MappedFile.size + 1) {
        let mapping = try file.map()
        #expect(munmap(mapping, MappedFile.size) == 0)
      }
      #expect(try file.bytes() == [MappedFile.filling])
    }
    try await MappedFile.with { file in
      let mapping = try file.map()
      #expect(munmap(mapping, MappedFile.size) == 0)
      #expect(try file.bytes() == [MappedFile.filling])
    }
  }

  @Test("Argon2id's memory is locked, and in no core dump")
  func flags() throws {
    var flags = ""
    try WorkingMemory.expect(1 << 16) {
      let mapping = try #require(mmap(nil, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
      defer { munmap(mapping, 1 << 16) }
      // The kernel shows neighbours with the same flags as one line.
      let file = try #require(FileHandle(forReadingAtPath: "/proc/self/smaps"))
      let maps = try #require(String(data: file.readDataToEndOfFile(), encoding: .utf8)).split(separator: "\n")
      let own = try #require(
        maps.firstIndex { line in
          let ends = line.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
          return ends.count == 2 && (ends[0]..<ends[1]).contains(UInt(bitPattern: mapping))
        })
      let line = maps[own...].first { $0.hasPrefix("VmFlags:") }
      flags = String(try #require(line))
    }
    #expect(flags.contains(" dd"))
    #expect(flags.contains(" lo"))
  }

  @Test("A signal waits while libsodium has the key on its heap")
  func unmapped() async throws {
    try await MappedFile.with { file in
      try await #require(processExitsWith: .signal(SIGTERM)) { [path = file.path as String] in
        try Sodium.initialize()
        Sodium.eraseWhenEnded()
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        try WorkingMemory.expect(MappedFile.size) {
          munmap(try MappedFile(path: path).map(), MappedFile.size)
          raise(SIGTERM)
          // The write stands for libsodium, which erases its copy now.
          try Data([1]).write(to: URL(fileURLWithPath: path))
        }
      }
      #expect(try file.bytes() == [1])
    }
  }

  @Test("A signal that ends the process erases it first", arguments: [SIGTERM, SIGALRM, SIGHUP, SIGPIPE, SIGSEGV])
  func ending(signal: Int32) async throws {
    try await MappedFile.with { file in
      try await #require(processExitsWith: .signal(signal)) { [path = file.path as String, signal = signal as Int32] in
        try Sodium.initialize()
        Sodium.eraseWhenEnded()
        try WorkingMemory.expect(MappedFile.size) {
          _ = try MappedFile(path: path).map()
          // A test thread may have blocked the signal.
          var set = sigset_t()
          sigemptyset(&set)
          sigaddset(&set, signal)
          pthread_sigmask(SIG_UNBLOCK, &set, nil)
          raise(signal)
        }
      }
      #expect(try file.bytes() == [0])
    }
  }

  // 4096 is the largest of the slots that share an allocation.
  @Test("A signal that ends the process erases secrets first", arguments: [4096, 1 << 20])
  func endingWithSecrets(size: Int) async throws {
    try await MappedFile.with { file in
      try await #require(processExitsWith: .signal(SIGTERM)) { [path = file.path as String, size = size as Int] in
        try Sodium.initialize()
        Sodium.eraseWhenEnded()
        try MappedFile(path: path).take(the: try #require(SecureMemory.allocate(size)), size: size)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTERM)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        raise(SIGTERM)
      }
      #expect(try file.bytes() == [0])
    }
  }

  // More allocations than one piece of the list of allocations can have.
  @Test("A signal that ends the process erases the last of many secrets")
  func endingWithMany() async throws {
    try await MappedFile.with { file in
      try await #require(processExitsWith: .signal(SIGTRAP)) { [path = file.path as String] in
        try Sodium.initialize()
        Sodium.eraseWhenEnded()
        for _ in 0..<200 { _ = try #require(SecureMemory.allocate(1 << 14)) }
        try MappedFile(path: path).take(the: try #require(SecureMemory.allocate(1 << 14)), size: 1 << 14)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, SIGTRAP)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        raise(SIGTRAP)
      }
      #expect(try file.bytes() == [0])
    }
  }

  @Test("A Swift trap and an endless recursion erase secrets first", arguments: [true, false])
  func endingByFault(isRecursion: Bool) async throws {
    // A Swift trap raises another signal on each kind of processor.
    try await MappedFile.with { file in
      try await #require(processExitsWith: .failure) {
        [path = file.path as String, isRecursion = isRecursion as Bool] in
        try Sodium.initialize()
        Sodium.eraseWhenEnded()
        try MappedFile(path: path).take(the: try #require(SecureMemory.allocate(4096)), size: 4096)
        if isRecursion { exit(Int32(truncatingIfNeeded: depth(below: 0))) }
        // The index is out of bounds.
        exit(Int32([path.utf8.count][path.utf8.count]))
      }
      #expect(try file.bytes() == [0])
    }
  }

  @Test("Handled and ignored signals stay so")
  func otherHandlers() async {
    await #expect(processExitsWith: .success) {
      try Sodium.initialize()
      signal(SIGTERM, SIG_IGN)
      signal(SIGHUP) { _ in exit(0) }
      Sodium.eraseWhenEnded()
      var set = sigset_t()
      sigfillset(&set)
      pthread_sigmask(SIG_UNBLOCK, &set, nil)
      raise(SIGTERM)
      raise(SIGHUP)
      exit(1)
    }
  }
}
