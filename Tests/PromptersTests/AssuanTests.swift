import Glibc
import LatchkeySodium
import Testing

@testable import LatchkeyPrompters

@Suite("Assuan")
struct AssuanTests {
  init() throws { try Sodium.initialize() }

  private func feed(_ reader: AssuanReader, _ text: String) {
    let bytes = Array(text.utf8)
    var ends: [Int32] = [0, 0]
    #expect(pipe(&ends) == 0)
    #expect(write(ends[1], bytes, bytes.count) == bytes.count)
    #expect(reader.read(from: ends[0]) == bytes.count)
    for end in ends { close(end) }
  }

  private func data(_ reader: AssuanReader) -> String? {
    guard let data = reader.takeData() else { return nil }
    return data.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }

  @Test("a text cannot end its line")
  func escape() {
    #expect(Assuan.escape("100 %\r\nGETPIN\n") == "100 %25%0D%0AGETPIN%0A")
    #expect(Assuan.escape("ü %0A") == "ü %250A")
  }

  @Test("a line may come in pieces, and several lines at once")
  func pieces() {
    let reader = AssuanReader.make()
    for piece in ["O", "K Plea", "sed to meet you"] {
      feed(reader, piece)
      #expect(reader.next() == nil)
    }
    feed(reader, "\nS PASSWORD_FROM_CACHE\n# comment\n\nD pass%25w%0Do")
    #expect(reader.next() == .done)
    #expect(reader.next() == nil)
    feed(reader, "rd %c3%BC\nD more\nOK\nERR 83886179 Operation cancelled <Pinentry>\n")
    #expect(reader.next() == .done)
    #expect(data(reader) == "pass%w\rord ümore")
    #expect(data(reader) == "")
    #expect(reader.next() == .failed(99))
    #expect(reader.next() == nil)
  }

  @Test("the quality of a passphrase is asked before the end")
  func quality() {
    let reader = AssuanReader.make()
    feed(reader, "INQUIRE QUALITY a%25b\nINQUIRE QUALITY\nS PIN_REPEATED\nD a%25bc\nOK\n")
    #expect(reader.next() == .asksQuality && data(reader) == "a%b")
    #expect(reader.next() == .asksQuality && data(reader) == "" && !reader.isRepeated)
    #expect(reader.next() == .done && data(reader) == "a%bc" && reader.isRepeated)
    reader.begin()
    #expect(!reader.isRepeated)
  }

  @Test(
    "input that is not Assuan ends the conversation",
    arguments: [
      "INQUIRE CHECKPIN x\n", "INQUIRE QUALITY %x\n", "D x\nINQUIRE QUALITY x\n", "rubbish\n", "D half%2\n", "D %zz\n",
      String(repeating: "x", count: 2000),
    ])
  func garbled(_ text: String) {
    let reader = AssuanReader.make()
    feed(reader, text)
    #expect(reader.next() == .garbled)
  }

  @Test("data is limited")
  func limit() {
    let reader = AssuanReader.make()
    for _ in 0..<2 {
      feed(reader, "D \(String(repeating: "x", count: 500))\n")
      #expect(reader.next() == nil)
    }
    feed(reader, "D \(String(repeating: "x", count: 30))\n")
    #expect(reader.next() == .garbled)
  }
}

extension AssuanReader {
  fileprivate static func make() -> AssuanReader {
    guard let reader = try? AssuanReader() else { preconditionFailure("no memory") }
    return reader
  }
}
