import LatchkeySodium
import Testing

@Suite("Keyed BLAKE2b")
struct KeyedHashTests {
  init() throws { try Sodium.initialize() }

  private func tag(_ inputs: [[UInt8]], key byte: UInt8 = 1, length: Int = 32) throws -> [UInt8] {
    var hash = try KeyedHash(key: try key(filledWith: byte), length: length)
    for input in inputs { hash.update(input.span.bytes) }
    return hash.tag()
  }

  @Test("No two lists of inputs have the same hash, wherever their boundaries are")
  func boundaries() throws {
    // Zeros and small numbers: a wrong hash could mistake the length in front of an input for content.
    let message: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0]
    var seen: Set<[UInt8]> = []
    var lists = 0
    for first in 0...message.count {
      for second in first...message.count {
        for third in second...message.count {
          let parts = [message[0..<first], message[first..<second], message[second..<third], message[third...]].map(
            Array.init)
          seen.insert(try tag(parts))
          lists += 1
        }
      }
    }
    for parts in [[], [[]], [[], []], [message]] as [[[UInt8]]] {
      seen.insert(try tag(parts))
      lists += 1
    }
    #expect(seen.count == lists)
  }

  @Test("The hash depends on key, content, order and length")
  func differences() throws {
    let tags = [
      try tag([[1], [2]]), try tag([[2], [1]]), try tag([[1], [3]]), try tag([[1], [2]], key: 2),
      try tag([[1], [2]], length: 64), try tag([[1], [2]], length: 16),
    ]
    #expect(Set(tags).count == tags.count)
    #expect(tags.map(\.count) == [32, 32, 32, 32, 64, 16])
    #expect(Array(tags[0].prefix(16)) != tags[5])
  }

  @Test("Text and keys are inputs like bytes")
  func kinds() throws {
    var hash = try KeyedHash(key: try key(filledWith: 1))
    hash.update("label")
    hash.update(try key(filledWith: 9))
    #expect(octets(try hash.key()) == (try tag([Array("label".utf8), [UInt8](repeating: 9, count: 32)])))
  }

  @Test("Lengths that BLAKE2b does not have are refused", arguments: [-1, 0, 15, 65])
  func lengths(length: Int) {
    #expect(throws: SodiumError.badArgument) { _ = try KeyedHash(key: try key(filledWith: 1), length: length) }
  }

  @Test("Only 32 bytes are a key", arguments: [16, 64])
  func keyLength(length: Int) throws {
    let failure = #expect(throws: SodiumError.self) {
      let hash = try KeyedHash(key: try key(filledWith: 1), length: length)
      _ = try hash.key()
    }
    #expect(failure == .badArgument)
  }

  @Test("The check sum is BLAKE2b-256 of RFC 7693")
  func checksum() {
    #expect(
      Sodium.checksum([UInt8]().span.bytes)
        == [UInt8](hex: "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"))
    #expect(
      Sodium.checksum(Array("abc".utf8).span.bytes, length: 64)
        == [UInt8](
          hex: "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
            + "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"))
  }

  @Test("The comparison of hashes compares every byte")
  func equal() {
    let left = Sodium.randomBytes(40)
    #expect(Sodium.equal(left, left))
    #expect(Sodium.equal([], []))
    #expect(!Sodium.equal(left, Array(left.dropLast())))
    #expect(!Sodium.equal(left, []))
    for bit in 0..<320 { #expect(!Sodium.equal(left, left.flipped(bit))) }
  }
}
