import Testing

@testable import LatchkeyGettext

@Suite("English texts in files")
struct TemplateTests {
  @Test("a text is found with its values, and filling in the values restores the text")
  func values() {
    let plain = Template("it is locked")
    #expect(plain.values(in: "it is locked") == [] && plain.filled() == "it is locked")
    #expect(plain.values(in: "it is locked.") == nil && plain.values(in: "") == nil)
    let several = Template("item \(.value) of \(.value)")
    #expect(several.values(in: "item 7 of Büro of x") == ["7", "Büro of x"])
    #expect(several.filled("7", "Büro of x") == "item 7 of Büro of x")
    let ends = Template("\(.text), and \(.text) took its place")
    #expect(ends.values(in: "a, b, and c took its place") == ["a, b", "c"])
    #expect(Template("\(.value)").values(in: "anything") == ["anything"])
  }

  @Test(
    "another text does not match",
    arguments: ["", "item", "item 7 of", "item 7 of ", "item  of x", "an item 7 of x", "item 7 of x ends"])
  func others(_ text: String) {
    #expect(Template("item \(.value) of x").values(in: text) == nil)
  }

  @Test("without a language, every text stays as it is")
  func noLanguage() {
    Language.end()
    let known = Templates([Template("it is locked"), Template("no finger opens \(.value): \(.text)")])
    for text in ["it is locked", "no finger opens login/5: it is locked", "x", ""] {
      #expect(known.translation(of: text) == text)
    }
  }
}
