import Foundation
import LatchkeySecurity
import Testing

@Suite("Random bytes")
struct RandomTests {
  @Test("All requested bytes are filled, and no byte behind them", arguments: [0, 1, 7, 8, 9, 31, 32, 4099])
  func filled(count: Int) {
    var untouched = Set(0..<count)
    // By chance, one byte keeps its value in 1 of 256 fillings, but never in all 32 fillings.
    for _ in 0..<32 {
      var bytes = [UInt8](repeating: 0xaa, count: count + 16)
      #expect(SecRandomCopyBytes(kSecRandomDefault, count, &bytes) == errSecSuccess)
      #expect(bytes[count...].allSatisfy { $0 == 0xaa })
      untouched = untouched.filter { bytes[$0] == 0xaa }
    }
    #expect(untouched.isEmpty)
  }

  @Test("No two fillings are equal, wherever the memory starts")
  func different() {
    var bytes = [UInt8](repeating: 0, count: 65)
    bytes.withUnsafeMutableBytes { memory in
      guard let start = memory.baseAddress else { return }
      #expect(SecRandomCopyBytes(kSecRandomDefault, 32, start) == errSecSuccess)
      #expect(SecRandomCopyBytes(nil, 32, start + 33) == errSecSuccess)
    }
    #expect(bytes[..<32] != bytes[33...])
    #expect(bytes[32] == 0)
  }

  @Test("A negative count or an unknown generator is a mistake")
  func mistakes() {
    var bytes: [UInt8] = [1, 2, 3]
    #expect(SecRandomCopyBytes(kSecRandomDefault, -1, &bytes) == errSecParam)
    #expect(SecRandomCopyBytes(OpaquePointer(bitPattern: 8), 3, &bytes) == errSecParam)
    #expect(bytes == [1, 2, 3])
  }
}
