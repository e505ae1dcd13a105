import LatchkeySecretClient
import LatchkeySodium
import Testing

@testable import LatchkeyForeignKeyrings

/// Readers of the output of gpg and keepassxc-cli, with content that they should never write.
/// Tests/Integration/Import/test_import_managers.py has real output.
@Suite struct ManagerFileTests {
  init() throws { try Sodium.initialize() }

  private func memory(_ text: String) throws -> SecureBytes { try SecureBytes(copying: Array(text.utf8).span.bytes) }
  private func text(_ secret: Secret) -> String {
    secret.withBytes { bytes in bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
  }

  private func read(_ xml: String) throws -> KeePassExport {
    try KeePassExport(try memory(xml)) { compressed in
      // The size shows that a value was "expanded".
      try SecureBytes(count: compressed.count + 100)
    }
  }

  private static let database = """
    <?xml version="1.0" encoding="UTF-8"?>
    <KeePassFile><Meta><RecycleBinUUID>AAAA</RecycleBinUUID><Binaries>
    <Binary ID="0" Compressed="True">AQI=</Binary><Binary ID="1">aGVsbG8=</Binary></Binaries></Meta>
    <Root><Group><UUID>BBBB</UUID><Name>All</Name>
    <Group><UUID>CCCC</UUID><Name>a&amp;b</Name><Entry><Times><LastModificationTime>1970-01-01T00:01:05Z</LastModificationTime>
    </Times><String><Key>Title</Key><Value>t</Value></String><String><Key>Password</Key>
    <Value ProtectInMemory="True">&lt;p&gt;&quot;&apos;&#x41;&#66;ä</Value></String><String><Key>Empty</Key><Value/></String>
    <Binary><Key>f</Key><Value Ref="0"/></Binary><Binary><Key>g</Key><Value Ref="1"/></Binary>
    <History><Entry><String><Key>Password</Key><Value>old</Value></String></Entry></History></Entry></Group>
    <Group><UUID>AAAA</UUID><Entry><String><Key>Password</Key><Value>gone</Value></String></Entry></Group>
    <Entry><String><Key>Title</Key><Value>bare</Value></String></Entry></Group></Root></KeePassFile>
    """

  @Test func aDatabase() throws {
    let read = try read(Self.database)
    #expect(read.items.map(\.label) == ["t", "t (f)", "t (g)"])
    #expect(text(read.items[0].secret) == "<p>\"'ABä" && text(read.items[2].secret) == "hello")
    #expect(read.items[1].secret.count == 102 && read.items[1].attributes["attachment"] == "f")
    #expect(
      read.items[0].attributes == [
        "xdg:schema": "org.latchkey.Login", "name": "t", "group": "a&b", "field": "password",
      ])
    #expect(read.items[0].modified == 65 && read.empty == ["bare"] && read.discarded == ["Password"] && read.older == 1)
  }

  /// keepassxc-cli writes a database of version 4 without the content of attached files.
  @Test func filesThatTheXMLDoesNotHave() throws {
    func entry(_ title: String, _ files: [(String, Int)]) -> String {
      let attached = files.map { "<Binary><Key>\($0.0)</Key><Value Ref=\"\($0.1)\"/></Binary>" }.joined()
      return "<Entry><String><Key>Title</Key><Value>\(title)</Value></String>\(attached)</Entry>"
    }
    var read = try read(
      "<KeePassFile><Root><Group><Name>all</Name>" + entry("a", [("f", 0), ("g", 1)])
        + entry("twice", [("f", 1), ("h", 2)])
        + entry("twice", []) + "<Group><Name>in</Name>" + entry("b", [("f", 0), ("i", 3)])
        + "</Group></Group></Root></KeePassFile>")
    #expect(read.items.isEmpty && read.empty == ["twice"])
    var asked: [String] = []
    let left = try read.addFiles { entry, name in
      asked.append("\(entry) \(name)")
      return name == "i" ? nil : try memory("content of \(name)")
    }
    // A file of two entries is read once, by an entry with a unique path.
    #expect(asked == ["/a f", "/a g", "/in/b i"] && left == ["twice (h)", "b (i)"])
    #expect(read.items.map(\.label) == ["a (f)", "a (g)", "twice (f)", "b (f)"])
    #expect(
      read.items.map { text($0.secret) } == ["content of f", "content of g", "content of g", "content of f"])
    #expect(read.items[3].attributes["attachment"] == "f" && read.items[3].attributes["group"] == "in")
  }

  @Test func timesOfEachVersion() throws {
    func time(_ text: String) throws -> UInt64? {
      try read(
        """
        <KeePassFile><Root><Group><Entry><Times><LastModificationTime>\(text)</LastModificationTime></Times><String>
        <Key>Password</Key><Value>p</Value></String></Entry></Group></Root></KeePassFile>
        """
      ).items.first?.modified
    }
    #expect(try time("2025-01-02T03:04:05Z") == 1_735_787_045)
    // From a database of version 4, keepassxc-cli writes that moment in Base64.
    #expect(try time("JfkH3w4AAAA=") == 1_735_787_045)
    // The first of January of 1970 and of the year 1, and invalid times.
    for text in ["APeRdw4AAAA=", "AAAAAAAAAAA=", "AAAA", "////////////", "yesterday", ""] {
      #expect(try time(text) == 0)
    }
  }

  @Test func everyCutOfADatabaseIsAnError() throws {
    let all = Array(Self.database.utf8)
    for count in 1..<all.count {
      let cut = try SecureBytes(copying: Array(all[..<count]).span.bytes)
      #expect(throws: ForeignFileError.self, "\(count)") {
        _ = try KeePassExport(cut) { try SecureBytes(copying: $0.bytes) }
      }
    }
  }

  @Test(arguments: [
    "<!DOCTYPE a [<!ENTITY b \"c\">]><KeePassFile/>", "<a><b></a></b>", "<a>", "</a>", "<>", "<a><![CDATA[x]]></a>", "",
    "<Other/>",
    String(repeating: "<a>", count: 100),
    "<KeePassFile><Entry><String><Key>Password</Key><Value>&nbsp;</Value></String></Entry></KeePassFile>",
    "<KeePassFile><Entry><String><Key>&#xD800;</Key><Value>x</Value></String></Entry></KeePassFile>",
  ])
  func whatKeePassXCNeverWritesIsAnError(_ xml: String) {
    #expect(throws: ForeignFileError.self) { try read(xml) }
  }

  /// A header of version 4 with the parameters of a key derivation, as KeePassXC reads it.
  private func header(_ parameters: [(type: UInt8, name: String, value: [UInt8])], version: UInt8 = 4) -> [UInt8] {
    func count(_ number: Int) -> [UInt8] { octets(UInt64(number), 4) }
    var list: [UInt8] = [0, 1]
    for one in parameters {
      list += [one.type] + count(one.name.utf8.count) + Array(one.name.utf8) + count(one.value.count) + one.value
    }
    list += [0]
    return Self.magic + [1, 0, version, 0, 2] + count(3) + [1, 2, 3, 11] + count(list.count) + list + [0] + count(4)
      + [13, 10, 13, 10]
  }

  private static let magic: [UInt8] = [0x03, 0xD9, 0xA2, 0x9A, 0x67, 0xFB, 0x4B, 0xB5]

  private func octets(_ number: UInt64, _ size: Int) -> [UInt8] {
    (0..<size).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64($0))) }
  }

  private func check(_ bytes: [UInt8]) throws { try KeePassHeader.check(try SecureBytes(copying: bytes.span.bytes)) }

  @Test func theCostOfADatabase() throws {
    func cost(_ numbers: [String: UInt64]) throws {
      try check(header(numbers.map { (5, $0.key, octets($0.value, 8)) }))
    }
    try cost(["M": 64 << 20, "I": 10, "P": 4])
    try cost(["M": 1 << 30, "I": 64, "P": 256])
    try cost(["R": 1_000_000_000])
    for numbers: [String: UInt64] in [
      ["M": 1 << 30 + 1, "I": 1], ["M": 1 << 30, "I": 65], ["M": .max, "I": .max], ["M": 8 << 10, "I": .max],
      ["M": 1 << 20, "I": 1, "P": 257], ["R": 1_000_000_001], ["R": .max],
    ] { #expect(throws: ForeignFileError.tooCostly, "\(numbers)") { try cost(numbers) } }
    // KeePassXC accepts other forms of numbers.
    #expect(throws: ForeignFileError.tooCostly) { try check(header([(4, "M", octets(1 << 31, 4))])) }
    #expect(throws: ForeignFileError.damaged) { try check(header([(0x18, "M", Array("99999999999".utf8))])) }
    let rounds: [UInt8] = [6, 8, 0]
    try check(Self.magic + [1, 0, 3, 0] + rounds + octets(6000, 8) + [0, 0, 0])
    #expect(throws: ForeignFileError.tooCostly) {
      try check(Self.magic + [1, 0, 3, 0] + rounds + octets(1 << 40, 8) + [0, 0, 0])
    }
    // KeePassXC refuses other files and later versions itself.
    try check([1, 2, 3])
    try check(header([(5, "M", octets(.max, 8))], version: 5))
  }

  /// KeePassXC reads each of these names as "M", or uses the last "M" of two.
  @Test(arguments: ["M\0x", "M\0", "\u{FEFF}M", "\u{FEFF}M\0", "\u{FEFF}\u{FEFF}M", "Q", "", "m", "\u{212A}"])
  func aNameThatKeePassXCReadsDifferently(_ name: String) throws {
    let known: [(UInt8, String, [UInt8])] = [
      (0x42, "$UUID", [1]), (0x42, "S", [1]), (4, "V", octets(0x13, 4)), (4, "P", octets(4, 4)),
      (5, "I", octets(10, 8)), (0x42, "K", [1]), (0x42, "A", [1]), (5, "R", octets(1, 8)),
    ]
    try check(header(known + [(5, "M", octets(1 << 20, 8))]))
    for content: UInt64 in [1, .max] {
      #expect(throws: ForeignFileError.damaged) { try check(header(known + [(5, name, octets(content, 8))])) }
    }
    for (first, second): (UInt64, UInt64) in [(.max, 1), (1, .max), (1, 1)] {
      #expect(throws: ForeignFileError.damaged) {
        try check(header([(5, "M", octets(first, 8)), (5, "M", octets(second, 8))]))
      }
    }
  }

  @Test func everyCutOfAHeaderIsAnError() throws {
    let all = header([(5, "M", octets(1 << 20, 8)), (0x42, "S", [1, 2, 3])])
    try check(all)
    for count in Self.magic.count..<all.count {
      #expect(throws: ForeignFileError.damaged, "\(count)") { try check(Array(all[..<count])) }
    }
  }

  @Test func filesThatAreAttachedTooOften() throws {
    let entry = "<Entry><Binary><Key>f</Key><Value Ref=\"0\"/></Binary></Entry>"
    let xml =
      "<KeePassFile><Meta><Binaries><Binary ID=\"0\" Compressed=\"True\">AQI=</Binary></Binaries></Meta><Root><Group>"
      + String(repeating: entry, count: 300) + "</Group></Root></KeePassFile>"
    #expect(throws: ForeignFileError.tooLarge) {
      try KeePassExport(try memory(xml)) { _ in try SecureBytes(count: 1 << 20) }
    }
  }

  @Test func aFileOfPass() throws {
    func items(_ content: String) throws -> [(String, String)] {
      try PasswordFile.items(try memory(content), name: "a/b", modified: 7).map { ($0.label, text($0.secret)) }
    }
    #expect(try items("one\ntwo\nthree").map(\.1) == ["one", "two\nthree"])
    #expect(try items("one\ntwo").map(\.0) == ["a/b", "a/b (notes)"])
    #expect(try items("one\n").map(\.1) == ["one"] && items("").map(\.1) == [""])
  }
}
