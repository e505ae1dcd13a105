import LatchkeySecretClient
import LatchkeySodium
import Testing

@testable import LatchkeyForeignKeyrings

/// What gpg and keepassxc-cli hand over, against what they should never write. Real ones are in
/// Tests/Integration/test_import_managers.py.
@Suite struct ManagerFileTests {
  init() throws { try Sodium.initialize() }

  private func memory(_ text: String) throws -> SecureBytes { try SecureBytes(copying: Array(text.utf8).span.bytes) }
  private func text(_ secret: Secret) -> String {
    secret.withBytes { bytes in bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
  }

  private func read(_ xml: String) throws -> KeePassExport {
    try KeePassExport(try memory(xml)) { compressed in
      // What is "expanded" is told apart by its size.
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
    #expect(read.items[0].modified == 65 && read.empty == ["bare"] && read.discarded == 1)
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
    "<KeePassFile><Entry><Binary><Key>f</Key><Value Ref=\"9\"/></Binary></Entry></KeePassFile>",
  ])
  func whatKeePassXCNeverWritesIsAnError(_ xml: String) {
    #expect(throws: ForeignFileError.self) { try read(xml) }
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
