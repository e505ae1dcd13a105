import Foundation
import Security
import Testing

@Suite("Random bytes")
struct RandomTests {
  @Test("All of what was asked for is filled, and nothing behind it")
  func filled() {
    for count in [0, 1, 31, 32, 4096, 100_000] {
      var bytes = [UInt8](repeating: 0xaa, count: count + 16)
      #expect(SecRandomCopyBytes(kSecRandomDefault, count, &bytes) == errSecSuccess)
      #expect(bytes.suffix(16).allSatisfy { $0 == 0xaa })
      // 16 equal bytes at the end come by chance once in 2^128.
      if count >= 32 { #expect(!bytes[..<count].suffix(16).allSatisfy { $0 == 0xaa }) }
    }
    var two = [[UInt8]](repeating: [UInt8](repeating: 0, count: 32), count: 2)
    for index in two.indices { #expect(SecRandomCopyBytes(nil, 32, &two[index]) == errSecSuccess) }
    #expect(two[0] != two[1])
  }

  @Test("A count below nothing, or a generator that does not exist, is a mistake")
  func mistakes() {
    var bytes: [UInt8] = [1, 2, 3]
    #expect(SecRandomCopyBytes(kSecRandomDefault, -1, &bytes) == errSecParam)
    #expect(SecRandomCopyBytes(OpaquePointer(bitPattern: 8), 3, &bytes) == errSecParam)
    #expect(bytes == [1, 2, 3])
  }
}
