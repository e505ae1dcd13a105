import Glibc
import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyVault

/// Items that remember which fingers were enrolled.
@Suite("Items of the enrolled fingers")
struct FingerTests {
  let home: Home
  let vault: Vault
  static let current = 0x8 as UInt32
  static let passphrase = 0x8000_0000 as UInt32

  init() throws {
    home = try Home()
    vault = try home.unlocked()
  }

  static func set(_ fingers: String..., reader: String = "Reader") throws -> FingerSet {
    try FingerSet([(reader, fingers)])
  }

  func add(
    _ secret: String = "secret", flags: UInt32 = FingerTests.current, fingers: FingerSet?,
    _ accessibility: AccessibilityClass? = nil, granted: AccessGrant? = nil
  ) throws -> Int64 {
    try vault.writer.createItem(
      in: vault.collections.ids[0],
      ItemMetadata(label: "a", attributes: ["n": "a"], contentType: "text/plain", flags: flags, fingers: fingers),
      secret: try SecureBytes(copying: Array(secret.utf8).span.bytes), accessibility: accessibility, replacing: true,
      granted: { $0 == granted?.item ? granted : nil }
    ).id
  }

  @Test("a set of fingers is equal in any order, and differs after any change")
  func sets() throws {
    let set = try FingerTests.set("left-thumb", "right-thumb")
    #expect(try FingerTests.set("right-thumb", "left-thumb") == set)
    #expect(try FingerSet([("b", ["x"]), ("a", ["y"])]) == FingerSet([("a", ["y"]), ("b", ["x"])]))
    #expect(try FingerSet([("a", ["y"]), ("a", ["x"])]) == FingerSet([("a", ["x"]), ("a", ["y"])]))
    let others: [(String, [String])] = [
      ("Reader", []), ("Reader", ["left-thumb"]), ("Reader", ["left-thumbright-thumb"]),
      ("Reader", ["left-thumb", "right-thumb", ""]),
      ("Reader", ["left-thumb", "left-thumb", "right-thumb"]), ("Reader", ["left-thumb", "Right-thumb"]),
    ]
    for other in others {
      #expect(set.change(to: try FingerSet([other])) == (other.1.isEmpty ? .noFingers : .otherFingers), "\(other)")
    }
    #expect(
      try FingerSet([("a", ["x"]), ("b", [])]).change(to: FingerSet([("a", []), ("b", ["x"])])) == .otherFingers)
    #expect(try FingerSet([("a", ["b"]), ("c", [])]) != FingerSet([("a", []), ("b", ["c"])]))
    for readers in [[], ["Other"], ["Reader", "Other"], ["Reader", "Reader"], ["Reader", ""]] {
      let other = try FingerSet(readers.map { ($0, ["left-thumb", "right-thumb"]) })
      #expect(set.change(to: other) == .otherReaders, "\(readers)")
    }
    #expect(try FingerSet([]).isEmpty && FingerSet([("a", []), ("b", [])]).isEmpty)
    #expect(try !FingerSet([("a", []), ("b", ["x"])]).isEmpty)
  }

  @Test(
    "it remembers them in every class, over a lock, new keys and another start", arguments: AccessibilityClass.allCases)
  func remembers(_ accessibility: AccessibilityClass) throws {
    let set = try FingerTests.set("left-thumb")
    let id = try add(fingers: set, accessibility)
    let copy = try Home(copying: home)
    for vault in [vault, try copy.unlocked()] {
      #expect(try vault.reader.remembersFingers(ofItem: id))
      #expect(try vault.reader.changeOfFingers(ofItem: id, to: set) == FingerSet.Change.none)
      #expect(try vault.reader.changeOfFingers(ofItem: id, to: try FingerTests.set("right-thumb")) == .otherFingers)
      #expect(try vault.reader.info(ofItem: id).metadata?.label == "a")
      let grant = try #require(try vault.reader.grant(item: id))
      #expect(plain(try vault.reader.secret(ofItem: id, granted: grant).secret) == Array("secret".utf8))
      try vault.writer.update(item: id, granted: grant) { $0.label = "b" }
      #expect(try vault.reader.changeOfFingers(ofItem: id, to: set) == FingerSet.Change.none)
      try vault.writer.update(item: id, granted: grant) { $0.label = "a" }
    }
  }

  @Test("no item is stored without fingers to remember", arguments: [FingerTests.current, 0x8000_0008])
  func needed(_ flags: UInt32) throws {
    for fingers in [nil, try FingerSet([]), try FingerSet([("Reader", [])])] {
      #expect(throws: VaultError.noFingerEnrolled) {
        try vault.writer.createItem(
          in: vault.collections.ids[0],
          ItemMetadata(label: "a", attributes: [:], contentType: "", flags: flags, fingers: fingers),
          secret: try SecureBytes(copying: [1].span.bytes), accessibility: nil, replacing: false,
          passphrase: flags >> 31 == 1
            ? NewItemPassphrase(.make(), key: try Key(copying: [UInt8](repeating: 1, count: 32).span.bytes)) : nil)
      }
    }
    #expect(try vault.reader.itemCount() == 0)
    // An item that does not require a finger keeps no set of fingers.
    let id = try add(flags: 0x1, fingers: try FingerTests.set("left-thumb"))
    #expect(try !vault.reader.remembersFingers(ofItem: id) && vault.reader.info(ofItem: id).metadata?.fingers == nil)
    #expect(try vault.reader.changeOfFingers(ofItem: id, to: try FingerTests.set("left-thumb")) == nil)
  }

  @Test("a replaced item keeps its set of fingers, and only a change of access replaces the set")
  func replaced() throws {
    let (old, new) = (try FingerTests.set("left-thumb"), try FingerTests.set("right-thumb"))
    let id = try add(fingers: old)
    #expect(throws: VaultError.needsGrant) { try add("new", fingers: new) }
    #expect(throws: VaultError.needsGrant) { try add("new", flags: 0, fingers: nil) }
    #expect(try vault.reader.changeOfFingers(ofItem: id, to: old) == FingerSet.Change.none)
    #expect(try add("new", flags: 0, fingers: nil, granted: try vault.reader.grant(item: id)) == id)
    #expect(try vault.reader.changeOfFingers(ofItem: id, to: old) == FingerSet.Change.none)
    try vault.writer.setSecret(
      ofItem: id, try SecureBytes(copying: [1].span.bytes), contentType: "", granted: try vault.reader.grant(item: id))
    #expect(try vault.reader.changeOfFingers(ofItem: id, to: old) == FingerSet.Change.none)
    // Other fingers are a change of access, which needs a question of its own.
    #expect(try add("newer", fingers: new, granted: try vault.reader.grant(item: id)) == id)
    #expect(try vault.reader.changeOfFingers(ofItem: id, to: old) == FingerSet.Change.none)
    try vault.writer.setAccess(
      ofItem: id, try AccessControl(rawValue: FingerTests.current), fingers: new,
      granted: try vault.reader.grant(item: id))
    #expect(try vault.reader.changeOfFingers(ofItem: id, to: new) == FingerSet.Change.none)
    let presence = try AccessControl(rawValue: 1)
    try vault.writer.setAccess(ofItem: id, presence, granted: try vault.reader.grant(item: id))
    #expect(try !vault.reader.remembersFingers(ofItem: id))
    let control = try AccessControl(rawValue: FingerTests.current)
    #expect(throws: VaultError.needsGrant) { try vault.writer.setAccess(ofItem: id, control, fingers: new) }
    #expect(throws: VaultError.noFingerEnrolled) {
      try vault.writer.setAccess(ofItem: id, control, granted: try vault.reader.grant(item: id))
    }
    try vault.writer.setAccess(ofItem: id, control, fingers: old, granted: try vault.reader.grant(item: id))
    #expect(try vault.reader.changeOfFingers(ofItem: id, to: old) == FingerSet.Change.none)
  }

  @Test("an item survives the enrolment of other fingers, and opens again with its own")
  func others() throws {
    let set = try FingerTests.set("left-thumb")
    let id = try add(fingers: set)
    let row = try #require(try vault.database.store?.item(id))
    let others: [(FingerSet, FingerSet.Change)] = [
      (try FingerTests.set("left-thumb", "right-thumb"), .otherFingers),
      (try FingerTests.set("right-thumb"), .otherFingers),
      (try FingerTests.set(), .noFingers), (try FingerSet([]), .otherReaders),
      (try FingerTests.set("left-thumb", reader: "Other"), .otherReaders),
    ]
    for (other, change) in others {
      #expect(try vault.reader.changeOfFingers(ofItem: id, to: other) == change)
      #expect(change.reason?.text.isEmpty == false)
      #expect(try vault.reader.changeOfFingers(ofItem: id, to: set) == FingerSet.Change.none)
    }
    vault.settleWhole()
    #expect(try vault.database.store?.item(id)?.secret == row.secret)
    #expect(FingerSet.Change.none.reason == nil)
  }
}
