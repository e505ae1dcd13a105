import Foundation
import LatchkeyClassRules
import LatchkeyKeybag
import LatchkeyScratch
import Testing

@Suite("Files of rules")
struct RulesFileTests {
  private func rules(_ text: String) throws(RulesError) -> RulesFile {
    try RulesFile(path: "/r.yaml", text: Array(text.utf8))
  }

  private func refusal(_ text: String) -> RulesError? {
    do throws(RulesError) { _ = try rules(text) } catch { return error }
    return nil
  }

  private func name(_ file: RulesFile, _ attributes: [String: String]) -> String? {
    ClassRules.decision(for: attributes, in: [file])?.rule.name
  }

  @Test("The first rule with all of its attributes gives the class")
  func first() throws {
    let file = try rules(
      """
      - name: both
        match: {a: one, b: two}
        class: always
      - name: first
        match:
          a: one
        class: after-first-unlock
      - name: second
        match: {a: one}
        class: when-unlocked-this-device-only
      """)
    #expect(file.rules.map(\.line) == [1, 4, 8])
    #expect(file.rules.map(\.accessibility) == [.always, .afterFirstUnlock, .whenUnlockedThisDeviceOnly])
    #expect(name(file, ["a": "one", "b": "two", "c": "three"]) == "both")
    #expect(name(file, ["a": "one", "b": "other"]) == "first")
    #expect(name(file, ["a": "One"]) == nil)
    #expect(name(file, ["b": "two"]) == nil)
    #expect(name(file, [:]) == nil)
  }

  @Test(
    "Patterns must match the whole value",
    arguments: [
      ("abc", ["abc"], ["ab", "abcd", "xabc", "ABC", ""]), ("*", ["", "a", "äö"], []),
      ("?", ["a", "ä", "😀"], ["", "ab"]),
      ("a*", ["a", "ab"], ["ba"]), ("*a", ["a", "ba"], ["ab"]), ("a*b*c", ["abc", "aXbYbZc"], ["acb", "abcd"]),
      ("a?c", ["abc", "aäc"], ["ac", "abbc"]), ("*a?b", ["aaxb", "axb"], ["ab", "axbx"]), ("**", ["", "x"], []),
      ("*?", ["a", "ä"], [""]), ("a.c", ["a.c"], ["abc"]), ("[a]", ["[a]"], ["a"]), ("?*ä", ["öä", "xyä"], ["ä"]),
    ])
  func patterns(pattern: String, fitting: [String], others: [String]) throws {
    let file = try rules("- {name: n, match: {a: \"\(pattern)\"}, class: always}")
    for value in fitting { #expect(name(file, ["a": value]) == "n", "\(pattern) \(value)") }
    for value in others { #expect(name(file, ["a": value]) == nil, "\(pattern) \(value)") }
  }

  @Test("A pattern full of stars against a long value ends")
  func stars() throws {
    let file = try rules("- {name: n, match: {a: \"\(String(repeating: "*a", count: 200))b\"}, class: always}")
    #expect(name(file, ["a": String(repeating: "a", count: 20_000)]) == nil)
  }

  @Test(
    "An error names its line",
    arguments: [
      ("name: a\n", 1, "list of rules"), ("- name: a\n  match: {b: c}\n", 1, "no class:"),
      ("- name: a\n  class: always\n", 1, "no match:"), ("- match: {b: c}\n  class: always\n", 1, "no name:"),
      ("- name: a\n  match: {b: c}\n  class: sometimes\n", 3, "'sometimes'"),
      ("- name: a\n  match: {b: c}\n  class: [always]\n", 3, "class: must be a text"),
      ("- name:\n  match: {b: c}\n  class: always\n", 1, "name: must be a text"),
      ("- name: a\n  match: {}\n  class: always\n", 2, "at least one attribute"),
      ("- name: a\n  match: b\n  class: always\n", 2, "at least one attribute"),
      ("- name: a\n  match:\n    b: c\n    latchkey:accessible: always\n  class: always\n", 4, "'latchkey:accessible'"),
      ("- name: a\n  match:\n    b:\n  class: always\n", 3, "'b' has no pattern"),
      ("- name: a\n  match:\n    b: [c]\n  class: always\n", 3, "'b' has no pattern"),
      ("- name: a\n  match: {b: c}\n  klass: always\n", 3, "'klass'"), ("- a\n", 1, "name:, match: and class:"),
      ("- name: a\n  match:\n    b: c\n    b: d\n  class: always\n", 4, "'b' is given twice"),
      ("- name: a\n  match: {b: *c}\n  class: always\n", 2, "quotes"),
    ])
  func errors(text: String, line: Int, part: String) throws {
    let error = try #require(refusal(text))
    #expect(error.line == line)
    #expect(error.mistake.text.contains(part), "\(error)")
    #expect(error.description.hasPrefix("/r.yaml:\(line): "))
  }

  @Test("Text from the file cannot control a terminal")
  func quoting() throws {
    let error = try #require(refusal("- \"\\e]0;x\\a\(String(repeating: "y", count: 500))\": a\n"))
    #expect(!error.description.unicodeScalars.contains { $0.properties.generalCategory == .control })
    #expect(error.description.count < 200)
  }

  @Test("A file with comments only has no rules")
  func empty() throws {
    #expect(try rules("# - name: later\n").rules.isEmpty)
  }

  // MARK: - the file itself

  private static let good = Array("- {name: n, match: {a: b}, class: always}\n".utf8)

  private func load(_ path: String, owner: uid_t = geteuid()) -> Result<RulesFile?, RulesError> {
    do throws(RulesError) { return .success(try RulesFile.load(path, owner: owner)) } catch { return .failure(error) }
  }

  private func failure(_ result: Result<RulesFile?, RulesError>) -> String {
    if case .failure(let error) = result { error.mistake.text } else { "" }
  }

  @Test("An existing file is read, and a missing one counts as no file")
  func loading() throws {
    let scratch = try ScratchFolder()
    try scratch.put("rules.yaml", Self.good)
    #expect(try load(scratch.file("rules.yaml")).get()?.rules.count == 1)
    #expect(try load(scratch.file("none")).get() == nil)
    #expect(try load(scratch.file("none/rules.yaml")).get() == nil)
  }

  @Test("Only a file that nobody else can write is accepted")
  func trust() throws {
    let scratch = try ScratchFolder()
    let file = scratch.file("rules.yaml")
    try scratch.put("rules.yaml", Self.good)
    for (mode, isTaken) in [(0o644, true), (0o444, true), (0o646, false), (0o602, false)] as [(mode_t, Bool)] {
      chmod(file, mode)
      #expect(((try? load(file).get()) != nil) == isTaken, "\(mode)")
    }
    chmod(file, 0o664)
    // A group with the user's number belongs to the user alone.
    #expect(((try? load(file).get()) != nil) == (getegid() == geteuid()))
    chmod(file, 0o600)
    symlink(file, scratch.file("link"))
    #expect(failure(load(scratch.file("link"))).contains("link"))
    mkfifo(scratch.file("pipe"), 0o600)
    #expect(failure(load(scratch.file("pipe"))).contains("not a regular file"))
    #expect(failure(load(scratch.path)).contains("not a regular file"))
    try scratch.put("large", Array(repeating: UInt8(ascii: "#"), count: 65537))
    #expect(failure(load(scratch.file("large"))).contains("64 KiB"))
    if geteuid() == 0 {
      #expect(try load(file, owner: 12345).get() != nil, "root's file is taken")
      chown(file, 12345, 12345)
      #expect(failure(load(file, owner: 0)).contains("another user"))
      #expect(try load(file, owner: 12345).get() != nil)
      chmod(file, 0o664)
      #expect(try load(file, owner: 12345).get() != nil, "a group of its owner's number")
      chown(file, 12345, 100)
      #expect(failure(load(file, owner: 12345)).contains("chmod"))
    } else {
      #expect(failure(load(file, owner: geteuid() + 1)).contains("another user"))
    }
  }
}
