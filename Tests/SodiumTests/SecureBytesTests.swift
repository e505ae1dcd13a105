import Glibc
import Testing

@testable import LatchkeySodium

/// Holds a value that cannot be in an array.
private final class Held {
  var value: SecureBytes
  init(_ value: consuming SecureBytes) { self.value = value }
}

/// The secrets that a process still uses when it exits.
nonisolated(unsafe) private var inUse: [Held] = []

@Suite("Memory for secrets")
struct SecureBytesTests {
  init() throws { try Sodium.initialize() }

  @Test(
    "New memory is zero, also where a secret was before", arguments: [0, 1, 32, 64, 65, 512, 513, 4096, 4097, 1 << 20])
  func zeroed(size: Int) throws {
    for _ in 0..<4 {
      var value = try SecureBytes(count: size)
      #expect(value.count == size)
      #expect(octets(value).allSatisfy { $0 == 0 })
      value.withUnsafeMutableBytes { for index in $0.indices { $0[index] = 0xA7 } }
      #expect(octets(value).allSatisfy { $0 == 0xA7 })
    }
  }

  // A slot stays mapped after its release, so the test can read it. The test runs in a process of its own, where no other test
  // takes the slot or fills all slots. Memory outside of slots is unmapped.
  @Test("A slot is erased when it is given back")
  func erased() async {
    await #expect(processExitsWith: .success) {
      try Sodium.initialize()
      for size in [16, 64, 512, 4096] {
        guard let start = SecureMemory.allocate(size) else { exit(2) }
        start.copyMemory(from: Sodium.randomBytes(size), byteCount: size)
        SecureMemory.release(start)
        guard UnsafeRawBufferPointer(start: start, count: size).allSatisfy({ $0 == 0 }) else { exit(3) }
      }
    }
  }

  // This runs in a process of its own, because it erases the secrets of all other tests.
  @Test("A signal erases all secrets, even large ones")
  func erasedAtTheEnd() async {
    await #expect(processExitsWith: .success) {
      try Sodium.initialize()
      // Each value takes the place of an earlier one.
      for _ in 0..<200 { _ = try SecureBytes.random(count: 5000) }
      let secrets = try [16, 64, 4096, 4097, 1 << 20].map { Held(try SecureBytes.random(count: $0)) }
      SecureMemory.eraseAll()
      for secret in secrets where !octets(secret.value).allSatisfy({ $0 == 0 }) { exit(1) }
    }
  }

  @Test("A program that exits with secrets in use erases them")
  func erasedAtExit() async {
    await #expect(processExitsWith: .exitCode(5)) {
      try Sodium.initialize()
      let secrets = try [16, 4096, 1 << 20].map { Held(try SecureBytes.random(count: $0)) }
      inUse = secrets
      // The test registers its handler before the erasure's handler, so the test's handler runs later.
      atexit { _exit(inUse.allSatisfy { octets($0.value).allSatisfy { $0 == 0 } } ? 5 : 6) }
      Sodium.eraseWhenEnded()
      exit(0)
    }
  }

  @Test("With more values than slots, each still has its own memory, aligned")
  func manyValues() throws {
    var held: [Held] = []
    for number in 0..<900 {
      let bytes = withUnsafeBytes(of: number) { Array($0) } + [UInt8](repeating: 0x5A, count: number % 90)
      held.append(Held(try SecureBytes(copying: bytes.span.bytes)))
    }
    for number in held.indices {
      let expected = withUnsafeBytes(of: number) { Array($0) } + [UInt8](repeating: 0x5A, count: number % 90)
      #expect(octets(held[number].value) == expected)
      #expect(UInt(bitPattern: held[number].value.start) % 64 == 0)
    }
    // Every second value is replaced, and the others stay unchanged.
    for number in held.indices where number.isMultiple(of: 2) { held[number] = Held(try SecureBytes(count: 40)) }
    for number in held.indices {
      let start = octets(held[number].value).prefix(8)
      #expect(
        Array(start)
          == (number.isMultiple(of: 2) ? [0, 0, 0, 0, 0, 0, 0, 0] : withUnsafeBytes(of: number) { Array($0) }))
    }
  }

  /// How many mappings this process has, and how many bytes of them are locked.
  private static func mappings() -> (count: Int, locked: Int) {
    guard let file = fopen("/proc/self/smaps", "r") else { return (0, 0) }
    defer { fclose(file) }
    var (count, locked) = (0, 0)
    var line = [CChar](repeating: 0, count: 8192)
    while fgets(&line, Int32(line.count), file) != nil {
      if strncmp(line, "VmFlags:", 8) == 0 { count += 1 }
      if strncmp(line, "Locked:", 7) == 0 { locked += Int(atoi(Array(line[7...]))) << 10 }
    }
    return (count, locked)
  }

  // This runs in a process of its own, which counts its mappings. Each secret used to need four, and the kernel allows 65,530.
  @Test("20,000 secrets of one size are held at once, and their memory is returned", arguments: [64, 512, 4096])
  func heldAtOnce(size: Int) async {
    await #expect(processExitsWith: .success) { [size = size as Int] in
      try Sodium.initialize()
      let kept = Held(try SecureBytes.random(count: size))
      let copy = octets(kept.value)
      let before = Self.mappings()
      var held: [Held] = []
      for number in 0..<20_000 {
        let bytes = withUnsafeBytes(of: number) { Array($0) } + [UInt8](repeating: 0x5A, count: size - 8)
        held.append(Held(try SecureBytes(copying: bytes.span.bytes)))
      }
      let during = Self.mappings()
      guard during.count - before.count < 6_000 else { exit(2) }
      for number in held.indices {
        guard Array(octets(held[number].value).prefix(8)) == withUnsafeBytes(of: number, { Array($0) }) else { exit(3) }
      }
      // Half of the secrets go, in an order that differs from the slabs'.
      held = held.enumerated().filter { ($0.offset * 7919) % 20_000 < 10_000 }.map(\.element)
      // Byte by byte, without optimization, would take seconds.
      let rest = [UInt8](repeating: 0x5A, count: size - 8)
      for secret in held where memcmp(Array(octets(secret.value)[8...]), rest, rest.count) != 0 { exit(4) }
      held = []
      let after = Self.mappings()
      guard octets(kept.value) == copy, after.count <= before.count + 8 else { exit(5) }
      // If nothing may be locked, no page was locked.
      exit(after.locked <= before.locked + (64 << 10) ? 0 : 6)
    }
  }

  @Test("An impossible size fails", arguments: [-1, Int.min, Int.max, Int.max - 63, Int.max - 64, 1 << 60])
  func tooMuch(count: Int) {
    #expect(throws: SodiumError.outOfMemory) { _ = try SecureBytes(count: count) }
  }

  @Test("A prefix has only the first bytes")
  func prefix() throws {
    let bytes: [UInt8] = Array(1...100)
    for count in [0, 1, 99, 100] {
      let value = try SecureBytes(copying: bytes.span.bytes)
      let part = try value.prefix(count)
      #expect(part.count == count)
      #expect(octets(part) == Array(bytes.prefix(count)))
    }
    #expect(throws: SodiumError.badArgument) {
      let value = try SecureBytes(copying: bytes.span.bytes)
      _ = try value.prefix(101)
    }
    #expect(throws: SodiumError.badArgument) {
      let value = try SecureBytes(copying: bytes.span.bytes)
      _ = try value.prefix(-1)
    }
  }

  @Test("A key has 32 bytes, and its duplicate owns the same bytes")
  func keys() throws {
    for count in [0, 31, 33] {
      let bytes = [UInt8](repeating: 1, count: count)
      #expect(throws: SodiumError.badArgument) { _ = try Key(copying: bytes.span.bytes) }
    }
    let first = try Key.random()
    let second = try first.duplicate()
    #expect(octets(first) == octets(second))
    #expect(octets(first) != octets(try Key.random()))
    #expect(octets(first) != [UInt8](repeating: 0, count: 32))
  }
}
