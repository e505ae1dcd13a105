import LatchkeyBytes
import Testing

@Suite("Reading untrusted fields")
struct ByteReaderTests {
  @Test("Numbers of every width are read back, little-endian")
  func numbers() throws {
    var out = ByteWriter()
    out.number(UInt8(0xFE))
    out.number(UInt16(0x1234))
    out.number(UInt32(0x8765_4321))
    out.number(UInt64.max - 1)
    #expect(
      out.bytes == [
        0xFE, 0x34, 0x12, 0x21, 0x43, 0x65, 0x87, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
      ])
    var input = ByteReader(out.bytes)
    #expect(try input.number(UInt8.self) == 0xFE)
    #expect(try input.number(UInt16.self) == 0x1234)
    #expect(try input.number(UInt32.self) == 0x8765_4321)
    #expect(try input.number(UInt64.self) == UInt64.max - 1)
    #expect(input.remaining == 0)
    #expect(input.position == 15)
  }

  @Test("An incomplete number is Truncated, and reads nothing")
  func truncatedNumbers() {
    for count in 0..<8 {
      var input = ByteReader([UInt8](repeating: 7, count: count))
      #expect(throws: ByteReader.Truncated.self) { _ = try input.number(UInt64.self) }
      #expect(input.position == 0)
    }
    var empty = ByteReader([])
    #expect(throws: ByteReader.Truncated.self) { _ = try empty.number(UInt8.self) }
  }

  @Test("take returns exactly the remaining bytes", arguments: [-1, Int.min, 4, Int.max])
  func badCounts(count: Int) throws {
    var input = ByteReader([1, 2, 3])
    #expect(throws: ByteReader.Truncated.self) { _ = try input.take(count) }
    #expect(try input.take(0) == [])
    #expect(try input.take(3) == [1, 2, 3])
    #expect(throws: ByteReader.Truncated.self) { _ = try input.take(1) }
  }

  @Test("Framed fields are read back")
  func framed() throws {
    var out = ByteWriter()
    out.short([])
    out.short([UInt8](repeating: 9, count: 65535))
    out.long([1, 2])
    out.text("schön")
    out.put([4])
    var input = ByteReader(out.bytes)
    #expect(try input.short() == [])
    #expect(try input.short().count == 65535)
    #expect(try input.long() == [1, 2])
    #expect(try input.text() == "schön")
    #expect(try input.take(1) == [4])
    #expect(input.remaining == 0)
  }

  @Test("A length beyond the end is Truncated")
  func hostileLengths() {
    var short = ByteReader([3, 0, 1, 2])
    #expect(throws: ByteReader.Truncated.self) { _ = try short.short() }
    var long = ByteReader([0xFF, 0xFF, 0xFF, 0xFF, 1])
    #expect(throws: ByteReader.Truncated.self) { _ = try long.long() }
    var half = ByteReader([1])
    #expect(throws: ByteReader.Truncated.self) { _ = try half.text() }
  }

  @Test("Bytes that are not UTF-8 are replaced")
  func badText() throws {
    var input = ByteReader([2, 0, 0x41, 0xFF])
    #expect(try input.text() == "A\u{FFFD}")
  }

  @Test("Text is cut at 64 KiB")
  func longText() throws {
    var out = ByteWriter()
    out.text(String(repeating: "a", count: 70000))
    var input = ByteReader(out.bytes)
    #expect(try input.text().count == 65535)
    #expect(input.remaining == 0)
  }

  @Test("Random bytes never trap, and never give more bytes than there are")
  func noise() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in UInt8.random(in: 0...6, using: &generator)
      }
      var input = ByteReader(bytes)
      var given = 0
      do {
        while true {
          switch Int.random(in: 0...4, using: &generator) {
          case 0: given += try input.short().count
          case 1: given += try input.long().count
          case 2: given += try input.take(Int.random(in: -2...9, using: &generator)).count
          case 3: _ = try input.number(UInt32.self)
          default: _ = try input.text()
          }
          #expect(given <= bytes.count && input.position <= bytes.count)
          if input.remaining == 0 { break }
        }
      } catch {}
    }
  }
}
