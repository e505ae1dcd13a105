import LatchkeyText
import Testing

@testable import LatchkeyGettext

@Suite("Texts with values")
struct PhraseTests {
  @Test("a literal is its own English text, and its key has placeholders for the values")
  func keys() {
    let count = 3
    let phrase: Phrase = "\(count) of 5 % in \"\("Mail")\"\n"
    #expect(phrase.text == "3 of 5 % in \"Mail\"\n")
    #expect(phrase.key == "%1$s of 5 %% in \"%2$s\"\n")
    let plain: Phrase = "5 % of \("all")"
    #expect((plain.key, plain.text) == ("5 %% of %1$s", "5 % of all"))
    let bare: Phrase = "5 %"
    #expect((bare.key, bare.text) == ("5 %", "5 %"))
    #expect(("" as Phrase).key.isEmpty)
  }

  @Test("a text within a text is one of its values")
  func nested() {
    let inner: Phrase = "\(5) of 7"
    let outer: Phrase = "it has \(inner), and \(Phrase(verbatim: "5 %"))"
    #expect((outer.key, outer.text) == ("it has %1$s, and %2$s", "it has 5 of 7, and 5 %"))
  }

  @Test("a translation has the values in its own order, and text in a value is not read as a placeholder")
  func order() {
    #expect(Phrase.filled("%2$s: 5 %% %1$s", with: ["a", "%1$s"], atLeast: 2) == "%1$s: 5 % a")
    #expect(Phrase.filled("100 %", with: [], atLeast: 0) == "100 %")
    #expect(Phrase.filled("ein Eintrag in %1$s", with: ["Mail", "1"], atLeast: 1) == "ein Eintrag in Mail")
  }

  @Test(
    "a translation with wrong placeholders is not used",
    arguments: [
      "", "without one", "%1$s alone", "%2$s alone", "%1$s %2$s %3$s", "%1$s %2$s %", "%1$s %2$s %s", "%1$s %2$s %n",
      "%1$s %2$d", "%0$s %1$s %2$s", "%1$s %2$s %99999999999999999999$s", "%1$s %2$s %-1$s", "%1$s %2$s %1$", "%1 %2",
    ])
  func wrong(_ translation: String) {
    #expect(Phrase.filled(translation, with: ["a", "b"], atLeast: 2) == nil)
  }

  @Test("without a language, texts are English")
  func noLanguage() {
    Language.end()
    let count = 2
    #expect(translated("Cancel") == "Cancel")
    #expect(translated(count, one: "an item", other: "\(count) items") == "2 items")
    #expect(translated(1, one: "an item", other: "\(1) items") == "an item")
  }

  @Test(
    "a path, or a locale that the system lacks, is not a language",
    arguments: ["de/../x", "xx_XX.UTF-8", "C", ""])
  func refused(_ name: String) {
    Language.use { $0 == "LC_ALL" ? name : nil }
    #expect(Language.find("Cancel") == nil)
    Language.end()
  }
}
