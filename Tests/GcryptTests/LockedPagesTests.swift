import Glibc
import Testing

@testable import LatchkeyGcrypt

@Suite("Locked pages")
struct LockedPagesTests {
  /// The kernel's data about the mapping at an address, by key.
  private static func mapping(at address: UInt) throws -> [String: String] {
    let file = try #require(fopen("/proc/self/smaps", "r"))
    defer { fclose(file) }
    var facts: [String: String] = [:]
    var isInside = false
    var line = [CChar](repeating: 0, count: 4096)
    while fgets(&line, Int32(line.count), file) != nil {
      let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      let words = text.split(whereSeparator: \.isWhitespace)
      let range = words.first?.split(separator: "-") ?? []
      if range.count == 2, let begin = UInt(range[0], radix: 16), let end = UInt(range[1], radix: 16) {
        isInside = (begin..<end).contains(address)
      } else if isInside, let key = words.first {
        facts[String(key)] = words.dropFirst().joined(separator: " ")
      }
    }
    return facts
  }

  /// A megabyte that is locked as a whole would take a megabyte of RAM in each daemon.
  @Test("Secret memory is locked, and takes only as much RAM as is used")
  func lockedWhereUsed() throws {
    try Gcrypt.initialize()
    let piece = try SecureMemory(count: 8192)
    try piece.withMutableBytes { (bytes) throws(GcryptError) in bytes.copyBytes(from: repeatElement(1, count: 8192)) }
    let address = try piece.withBytes { (bytes) throws(GcryptError) in UInt(bitPattern: bytes.baseAddress) }
    let facts = try Self.mapping(at: address)
    func kilobytes(_ key: String) -> Int { facts[key].flatMap { Int($0.prefix { $0.isNumber }) } ?? -1 }
    #expect(facts["VmFlags:"]?.split(separator: " ").contains("lo") == true)
    let (size, resident, locked) = (kilobytes("Size:"), kilobytes("Rss:"), kilobytes("Locked:"))
    #expect((8...size / 2).contains(resident))
    #expect(locked == resident)
  }
}
