import LatchkeyText
import Testing

@Suite("Searching for text")
struct SearchTests {
  @Test("The first place is found, even in a part of a text")
  func first() {
    let text = "ä::b::c"
    #expect(text.firstRange(ofText: "::").map { text[..<$0.lowerBound] } == "ä")
    #expect(text.firstRange(ofText: "::").map { text[$0.upperBound...] } == "b::c")
    #expect(text.dropFirst(3).firstRange(ofText: "::").map { text[$0.upperBound...] } == "c")
    #expect(text.firstRange(ofText: ":::") == nil)
    #expect("".firstRange(ofText: "a") == nil)
  }

  @Test("Places do not overlap")
  func places() {
    #expect("aaaaa".ranges(ofText: "aa").count == 2)
    #expect("abc".ranges(ofText: "").isEmpty)
  }

  @Test(
    "A text contains another or does not",
    arguments: [
      ("haystack", "st", true), ("haystack", "ts", false), ("aab", "ab", true), ("ab", "abc", false), ("a", "", true),
    ])
  func contains(text: String, part: String, isIn: Bool) { #expect(text.contains(text: part) == isIn) }

  @Test("Each place gets the other text")
  func replacing() {
    #expect("it's 'x'".replacing(text: "'", with: #"'\''"#) == #"it'\''s '\''x'\''"#)
    #expect("a.b".dropFirst().replacing(text: ".", with: "") == "b")
    #expect("abc".replacing(text: "", with: "x") == "abc")
    #expect("".replacing(text: "a", with: "x") == "")
  }

  @Test("The parts between the places are not empty")
  func split() {
    #expect("a, to b, to , to c".split(text: ", to ") == ["a", "b", "c"])
    #expect("".split(text: ", ") == [])
  }
}
