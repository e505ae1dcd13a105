import CLatchkeySodium
import Foundation
import Synchronization
import Testing

@testable import LatchkeySodium

@Suite("Argon2id")
struct PasswordHashTests {
  init() throws { try Sodium.initialize() }

  private func derive(_ password: String, salt: [UInt8], passes: UInt32, memory: UInt64) throws -> [UInt8] {
    let password = Array(password.utf8)
    return octets(try PasswordHash.derive(password: password.span.bytes, salt: salt, passes: passes, memory: memory))
  }

  // Results of the reference implementation (phc-winner-argon2, by way of argon2-cffi). RFC 9106's own vector has four lanes and a
  // secret, which libsodium does not offer.
  @Test("Argon2id is RFC 9106's, version 1.3, one lane")
  func vector() throws {
    let salt: [UInt8] = Array(0...15)
    #expect(
      try derive("password", salt: salt, passes: 3, memory: 1 << 20)
        == [UInt8](hex: "8f92a1acc0c0509e55d57b2be709a525017461f8f29d51008c6a0b247f0d1748"))
    #expect(
      try derive("", salt: salt, passes: 1, memory: 8192)
        == [UInt8](hex: "31ed41e2d73f27fdfe4eb4bec651341e58ba43477051c6fe4adad735d82ee08a"))
  }

  @Test("The key depends on password, salt, passes and memory")
  func differences() throws {
    let salt: [UInt8] = Array(0...15)
    let results = [
      try derive("password", salt: salt, passes: 2, memory: 65536),
      try derive("passwore", salt: salt, passes: 2, memory: 65536),
      try derive("password\u{0}", salt: salt, passes: 2, memory: 65536),
      try derive("password", salt: salt.flipped(127), passes: 2, memory: 65536),
      try derive("password", salt: salt, passes: 3, memory: 65536),
      try derive("password", salt: salt, passes: 2, memory: 66560),
    ]
    #expect(Set(results).count == results.count)
  }

  @Test("Invalid input is refused before any work")
  func badArguments() {
    let salt: [UInt8] = Array(0...15)
    for (salt, passes, memory) in [
      (Array(salt.dropLast()), 1, 8192), (salt + [0], 1, 8192), ([], 1, 8192), (salt, 0, 8192), (salt, 1, 8191),
      (salt, 1, 0),
      (salt, 1, (4 << 30) + 1), (salt, 1, UInt64.max),
    ] as [([UInt8], UInt32, UInt64)] {
      #expect(throws: SodiumError.badArgument) { _ = try derive("x", salt: salt, passes: passes, memory: memory) }
    }
  }

  @Test("Memory that is not available is an error")
  func noMemory() async {
    await #expect(processExitsWith: .success) {
      try Sodium.initialize()
      var limit = rlimit(rlim_cur: 256 << 20, rlim_max: 256 << 20)
      guard setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit) == 0 else { exit(2) }
      do {
        _ = try PasswordHash.derive(password: [UInt8(1)].span.bytes, salt: Array(0...15), passes: 1, memory: 1 << 30)
        exit(3)
      } catch {
        exit(error as? SodiumError == .outOfMemory ? 0 : 4)
      }
    }
  }
}

@Suite("Traces on the stack")
struct StackTests {
  init() throws { try Sodium.initialize() }

  /// A thread whose stack is the test's own memory, so that the test can read it after the thread's end.
  private final class Run {
    let work: () -> Void
    init(_ work: @escaping () -> Void) { self.work = work }
  }

  /// Whether `needle` is anywhere on the stack of `work`.
  private func leaves(_ needle: [UInt8], _ work: @escaping () -> Void) throws -> Bool {
    try !alwaysLeft { try stack(after: work).range(of: Data(needle)) == nil ? [] : [""] }.isEmpty
  }

  /// The traces that `look` finds, if every try finds some. The Swift runtime's libraries, which the programs contain, bind functions lazily
  /// here. The first call of each function saves the vector registers on the stack, with a cipher's values in them.
  private func alwaysLeft(_ look: () throws -> [String]) throws -> [String] {
    for _ in 1..<4 where try look().isEmpty { return [] }
    return try look()
  }

  /// The stack of `work` after its end.
  private func stack(after work: @escaping () -> Void) throws -> Data {
    let size = 1 << 20
    let stack = try #require(mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
    defer { munmap(stack, size) }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    try #require(pthread_attr_setstack(&attributes, stack, size) == 0)
    var thread = pthread_t()
    let run = Unmanaged.passRetained(Run(work))
    let started = pthread_create(
      &thread, &attributes,
      { argument in
        guard let argument else { return nil }
        let run = Unmanaged<Run>.fromOpaque(argument).takeRetainedValue()
        _ = StackTests.deeper(100) { run.work() }
        return nil
      }, run.toOpaque())
    try #require(started == 0)
    pthread_join(thread, nil)
    return Data(bytes: stack, count: size)
  }

  /// Leaves 32 bytes on the stack.
  @inline(never)
  private static func leave(_ bytes: [UInt8]) -> Int {
    var block = SIMD32<UInt8>()
    for index in 0..<32 { block[index] = bytes[index] }
    return withUnsafeBytes(of: &block) { Int($0.max() ?? 0) }
  }

  @Test("The search finds a trace (a control)")
  func control() throws {
    let secret = Sodium.randomBytes(32)
    #expect(try leaves(Array(secret[8..<24])) { _ = StackTests.deeper(20) { _ = StackTests.leave(secret) } })
  }

  /// Runs `body` so far down the stack that the thread's end does not overwrite its traces.
  @inline(never)
  private static func deeper(_ levels: Int, _ body: () -> Void) -> Int {
    if levels == 0 {
      body()
      return 0
    }
    var room = SIMD64<UInt8>(repeating: 0)
    room[levels % 64] = 1
    // No call follows the body, because a call would use the stack of the body's frames.
    let seen = withUnsafeBytes(of: &room) { Int($0.max() ?? 0) }
    return deeper(levels - 1, body) + seen
  }

  @Test("Argon2id leaves no password and no key")
  func passwordHash() throws {
    let password = Sodium.randomBytes(32)
    let salt: [UInt8] = Array(0...15)
    let derived = octets(
      try PasswordHash.derive(password: password.span.bytes, salt: salt, passes: 1, memory: 1 << 20))
    let work = {
      _ = try? PasswordHash.derive(password: password.span.bytes, salt: salt, passes: 1, memory: 1 << 20)
    }
    #expect(try !leaves(Array(derived.prefix(16)), work))
    #expect(try !leaves(Array(password.prefix(16)), work))
  }

  @Test("Sealing, opening and hashing leave no key and no plaintext")
  func others() throws {
    let secret = Sodium.randomBytes(32)
    let plaintext = Sodium.randomBytes(32)
    let sealed = AEAD.seal(plaintext.span.bytes, key: try key(secret), associated: [])
    let publicKey = SealedBox.publicKey(of: try key(secret))
    let box = try SealedBox.seal(plaintext.span.bytes, to: publicKey)
    var first = try KeyedHash(key: try key(secret))
    first.update([UInt8(1)].span.bytes)
    let derived = octets(try first.key())
    // Each function runs by itself, because the next one could overwrite its traces.
    let works: [(String, (borrowing Key) -> Void)] = [
      ("seal", { _ = AEAD.seal(plaintext.span.bytes, key: $0, associated: []) }),
      ("open", { _ = try? AEAD.open(sealed.span.bytes, key: $0, associated: []) }),
      ("public key", { _ = SealedBox.publicKey(of: $0) }),
      ("seal a box", { _ in _ = try? SealedBox.seal(plaintext.span.bytes, to: publicKey) }),
      ("open a box", { _ = try? SealedBox.open(box.span.bytes, secret: $0) }),
      (
        "hash",
        {
          guard var hash = try? KeyedHash(key: $0) else { return }
          hash.update([UInt8(1)].span.bytes)
          _ = try? hash.key()
        }
      ),
    ]
    for (work, body) in works {
      for (name, needle) in [("key", secret), ("plaintext", plaintext), ("derived key", derived)] {
        let left = try leaves(Array(needle[8..<24])) {
          guard let key = try? Key(copying: secret.span.bytes) else { return }
          body(key)
        }
        #expect(!left, "\(work): \(name)")
      }
    }
  }

  /// The result of a piece of work, for use after its thread.
  private final class Made {
    var bytes: [UInt8] = []
  }

  /// Searches for both halves of a needle, because the compiler spills registers of 16 bytes.
  private func left(_ needles: [(String, [UInt8])], on stack: Data, _ work: String) -> [String] {
    needles.filter { _, needle in
      [needle.prefix(16), needle.suffix(16)].contains { stack.range(of: Data($0)) != nil }
    }.map { "\(work): \($0.0)" }
  }

  // libsodium uses other code and other registers for long values.
  @Test(
    "Ciphers also leave no keys that they make for one value",
    arguments: [0, 32, 64, 100, 128, 256, 300, 512, 600, 5000, 1 << 20])
  func keysOfOneValue(size: Int) throws {
    let (plaintext, secret, made) = (Sodium.randomBytes(size), Sodium.randomBytes(32), Made())
    let found = try alwaysLeft {
      let sealing = try stack {
        guard let key = try? Key(copying: secret.span.bytes) else { return }
        made.bytes = AEAD.seal(plaintext.span.bytes, key: key, associated: [])
      }
      let sealed = made.bytes
      let opening = try stack {
        guard let key = try? Key(copying: secret.span.bytes) else { return }
        _ = try? AEAD.open(sealed.span.bytes, key: key, associated: [])
      }
      var stream = [UInt8](repeating: 0, count: 32)
      _ = crypto_core_hchacha20(&stream, sealed, secret, nil)
      let needles = [("key", secret), ("stream key", stream)]
      return left(needles, on: sealing, "seal") + left(needles, on: opening, "open")
    }
    #expect(found == [])
  }

  @Test("A sealed box leaves nothing behind that opens the box", arguments: [32, 5000])
  func keysOfOneBox(size: Int) throws {
    let (plaintext, secret, made) = (Sodium.randomBytes(size), Sodium.randomBytes(32), Made())
    let publicKey = SealedBox.publicKey(of: try key(secret))
    let found = try alwaysLeft {
      let sealing = try stack {
        made.bytes = (try? SealedBox.seal(plaintext.span.bytes, to: publicKey)) ?? []
      }
      let box = made.bytes
      try #require(!box.isEmpty)
      let opening = try stack {
        guard let key = try? Key(copying: secret.span.bytes) else { return }
        _ = try? SealedBox.open(box.span.bytes, secret: key)
      }
      var shared = [UInt8](repeating: 0, count: 32)
      var (agreed, stream) = (shared, shared)
      _ = crypto_scalarmult(&shared, secret, box)
      _ = crypto_box_beforenm(&agreed, box, secret)
      let nonce = Sodium.checksum(Array(box.prefix(32) + publicKey).span.bytes, length: 24)
      _ = crypto_core_hsalsa20(&stream, nonce, agreed, nil)
      let needles = [
        ("plaintext", plaintext), ("shared secret", shared), ("agreed key", agreed), ("stream key", stream),
      ]
      return left(needles, on: sealing, "seal a box")
        + left(needles + [("key", secret)], on: opening, "open a box")
    }
    #expect(found == [])
  }
}
