import Testing

@testable import LatchkeySecretService

@Suite("An object path") struct ObjectPathTests {
  @Test("An object path names a collection or an item in one spelling only")
  func spellings() {
    let folder = ObjectPath.collections
    #expect(ObjectPath(folder + "/c17") == .collection(.vault(17)))
    #expect(ObjectPath(folder + "/c17/3") == .item(.vault(17), 3))
    // A combining mark after a letter makes one character in Swift.
    for name in ["c\u{33E}17", "c+17", "c17 ", "", "a-b", "c17/0", "c17/03", "c17/3\u{33E}", "Work/+1"] {
      #expect(ObjectPath("\(folder)/\(name)") == .other, "\(name)")
    }
    // These names come from labels.
    for name in ["c017", "c1", "c", "C17", "Work", "My_5fKeys", "Login"] {
      #expect(ObjectPath("\(folder)/\(name)") == .collection(.named(name)), "\(name)")
      #expect(ObjectPath("\(folder)/\(name)/3") == .item(.named(name), 3), "\(name)")
    }
  }
}
