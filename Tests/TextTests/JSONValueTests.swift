import LatchkeyText
import Testing

@Suite("JSON")
struct JSONValueTests {
  private struct Item: Codable, Equatable {
    enum Kind: String, Codable { case file, link }
    var name = "a"
    var count: UInt64 = .max
    var offset = -5
    var share = 0.5
    var isOpen = true
    var reason: String?
    var kind = Kind.link
    var words = ["one", "two"]
    var none: [Int] = []
    var attributes = ["z": "1", "b": "2"]
    var inner: [String: [Int?]] = ["numbers": [1, nil]]
  }

  @Test("A value is written in one line, with its keys sorted")
  func oneLine() throws {
    #expect(
      try JSONValue(Item()).text(isPretty: false)
        == #"{"attributes":{"b":"2","z":"1"},"count":18446744073709551615,"inner":{"numbers":[1,null]},"isOpen":true,"#
        + #""kind":"link","name":"a","none":[],"offset":-5,"share":0.5,"words":["one","two"]}"#)
  }

  @Test("A value is written with a line for each part")
  func pretty() throws {
    #expect(
      try JSONValue(["list": [1, 2], "none": []]).text(isPretty: true) == """
        {
          "list" : [
            1,
            2
          ],
          "none" : []
        }
        """)
    #expect(try JSONValue("alone").text(isPretty: true) == "\"alone\"")
  }

  @Test("Text is escaped, and has no control characters of a terminal")
  func escapes() throws {
    let text = "\"\\/\u{8}\u{c}\n\r\t\u{1b}\u{7f}\u{9b}é😀"
    #expect(
      try JSONValue(text).text(isPretty: false) == #""\"\\/\b\f\n\r\t\u001b\u007f\u009bé😀""#)
    #expect(
      try JSONValue(parsing: Array(#""\"\\\/\b\f\n\r\t\u001B\u007fé\ud83d\ude00""#.utf8))
        == .string("\"\\/\u{8}\u{c}\n\r\t\u{1b}\u{7f}é😀"))
  }

  @Test("A written value can be read again", arguments: [false, true])
  func roundTrip(isPretty: Bool) throws {
    var item = Item()
    item.reason = "ü\0\u{2028}"
    let text = try JSONValue(item).text(isPretty: isPretty)
    #expect(try JSONValue(parsing: Array(text.utf8)).decoded(as: Item.self) == item)
  }

  @Test("Numbers that JSON does not have are refused")
  func notFinite() {
    #expect(throws: EncodingError.self) { try JSONValue([Double.infinity]) }
  }

  @Test(
    "Numbers follow RFC 8259",
    arguments: ["0", "-0", "10", "-1.5", "1e3", "1E+3", "0.5e-7", "123456789012345678901234567890"])
  func numbers(text: String) throws {
    #expect(try JSONValue(parsing: Array(" \(text)\n".utf8)) == .number(text))
  }

  @Test(
    "Other text is malformed",
    arguments: [
      "", " ", "01", "+1", "-", "1.", ".5", "1e", "tru", "nul", "True", "{", "[", "[1,]", "[1 2]", "{\"a\"}",
      "{\"a\":}",
      "{a:1}", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "\"", "\"a", "\"\\", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\n\"",
      #""\ud83d""#, #""\ud83dx""#, #""\ud83d\u0041""#, #""\ude00\ud83d""#, "1 2", "[]]", "\u{feff}1",
    ])
  func malformed(text: String) {
    #expect(throws: JSONError.malformed) { try JSONValue(parsing: Array(text.utf8)) }
  }

  @Test("Bytes that are not UTF-8 are malformed")
  func notText() {
    #expect(throws: JSONError.malformed) { try JSONValue(parsing: [0x22, 0xff, 0x22]) }
  }

  @Test("A million brackets end with an error")
  func depth() throws {
    let deepest = [UInt8](repeating: UInt8(ascii: "["), count: 63) + [UInt8](repeating: UInt8(ascii: "]"), count: 63)
    #expect(throws: Never.self) { try JSONValue(parsing: deepest) }
    #expect(throws: JSONError.tooDeep) {
      try JSONValue(parsing: [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000))
    }
  }

  @Test(
    "A value of another kind or size is not decoded",
    arguments: [
      #"{"a":"1"}"#, #"{"a":true}"#, #"{"a":256}"#, #"{"a":-1}"#, #"{"a":1.0}"#, #"{"a":null}"#, "{}", "[1]", "1",
    ])
  func mismatches(text: String) throws {
    let value = try JSONValue(parsing: Array(text.utf8))
    #expect(throws: DecodingError.self) { try value.decoded(as: [String: UInt8].self)["a"].map { _ in } ?? fail() }
  }

  /// Decodes an object without the entry.
  private func fail() throws {
    throw DecodingError.valueNotFound(UInt8.self, .init(codingPath: [], debugDescription: ""))
  }
}
