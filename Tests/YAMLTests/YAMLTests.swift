import LatchkeyYAML
import Testing

@Suite("Documents")
struct YAMLTests {
  private func read(_ text: String) throws(YAMLError) -> YAMLNode? { try YAMLNode.document(Array(text.utf8)) }

  private func refusal(_ text: String) -> YAMLError? {
    do throws(YAMLError) { _ = try read(text) } catch { return error }
    return nil
  }

  @Test("Lists, mappings and texts come with their lines")
  func structure() throws {
    let text = """
      # a comment

      - name: "one: two"
        match: {a: b, 'c d': ~}
      -
        - yes
        - 12
      """
    let root = try #require(try read(text))
    guard case .sequence(let items) = root.content, case .mapping(let entries) = items[0].content,
      case .mapping(let flow) = entries[1].value.content, case .sequence(let inner) = items[1].content
    else {
      Issue.record("another structure: \(root)")
      return
    }
    #expect(root.line == 3 && items.count == 2)
    #expect(entries.map(\.key) == ["name", "match"] && entries.map(\.line) == [3, 4])
    #expect(entries[0].value.scalar == "one: two")
    #expect(flow.map(\.key) == ["a", "c d"] && flow.map(\.value.scalar) == ["b", "~"])
    #expect(inner.map(\.scalar) == ["yes", "12"] && inner.map(\.line) == [6, 7])
  }

  @Test("Comments alone are not a document", arguments: ["", "# only this\n", "\n\n", "\u{FEFF}# with a mark\n"])
  func empty(text: String) throws {
    #expect(try read(text) == nil)
  }

  @Test(
    "Anything that a reader cannot see in the text is refused, with its line",
    arguments: [
      ("- a\n- &b c\n", 2, "anchor"), ("- a\n- *b\n", 2, "alias"), ("- a\n- !!str b\n", 2, "tag"),
      ("a: 1\nb: 2\na: 3\n", 3, "givenTwice"),
      ("a: 1\n---\nb: 2\n", 2, "secondDocument"), ("%YAML 1.1\n---\na: 1\n", 1, "directive"),
      ("? [a]\n: b\n", 1, "nameNotPlain"),
      ("- a\n  b: c\n - d\n", 2, "malformed"), ("a: \"b\n", 2, "malformed"), ("a: [b\n", 2, "malformed"),
      ("\tb: c\n", 1, "malformed"),
    ])
  func refused(text: String, line: Int, part: String) throws {
    let error = try #require(refusal(text))
    #expect(error.line == line)
    #expect("\(error.problem)".hasPrefix(part), "\(error)")
  }

  @Test("Bytes that are not UTF-8 are refused")
  func encoding() {
    for bytes in [[0x61, 0x3A, 0x20, 0xFF], [0xFF, 0xFE, 0x61, 0x00], [0x61, 0x00, 0x62]] as [[UInt8]] {
      #expect(throws: YAMLError.self) { () throws in _ = try YAMLNode.document(bytes) }
    }
  }

  @Test("Size and depth are limited, and the largest text is checked quickly")
  func limits() throws {
    let line = "- abcdefghijklmn\n"
    let full = String(repeating: line, count: YAMLNode.sizeLimit / line.utf8.count)
    #expect(try read(full) != nil)
    #expect(refusal(full + line)?.problem == .tooLarge)
    func nested(_ depth: Int) -> String { String(repeating: "[", count: depth) + String(repeating: "]", count: depth) }
    #expect(try read(nested(YAMLNode.depthLimit)) != nil)
    #expect(refusal(nested(YAMLNode.depthLimit + 2))?.problem == .tooDeep)
    for opening in ["[", "{", "- ", "? ", "[{"] {
      let count = YAMLNode.sizeLimit / opening.utf8.count
      #expect(refusal(String(repeating: opening, count: count)) != nil)
    }
  }
}
