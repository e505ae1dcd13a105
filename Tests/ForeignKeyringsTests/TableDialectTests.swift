import LatchkeySecretClient
import LatchkeySodium
import Testing

@testable import LatchkeyForeignKeyrings

/// Tables of programs that write CSV in their own ways.
@Suite struct TableDialectTests {
  init() throws { try Sodium.initialize() }

  private func read(_ text: String) throws -> PasswordTable.Contents {
    try PasswordTable.read(try SecureBytes(copying: Array(text.utf8).span.bytes))
  }
  private func secrets(_ table: PasswordTable.Contents) -> [String] {
    table.items.map { $0.secret.withBytes { bytes in bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } } }
  }

  private static let keePass = "\"Account\",\"Login Name\",\"Password\",\"Web Site\",\"Comments\"\n"

  @Test func backslashesOfKeePass1() throws {
    let table = try read(
      Self.keePass + #""Sample","user","pa\"ss\\wd","http://x.example/","n1"# + "\nn2\"\n"
        + #""Second","u\\2","plain","http://y.example/","""#)
    #expect(secrets(table) == ["pa\"ss\\wd", "n1\nn2", "plain"] && table.left.isEmpty && table.unread.isEmpty)
    #expect(table.items.map(\.label) == ["Sample", "Sample (notes)", "Second"] && table.hasBackslashes)
    #expect(table.items[0].attributes["server"] == "x.example" && table.items[2].attributes["user"] == "u\\2")
  }

  /// The column names are KeePass's, but the form of the values is not, so another program wrote the table.
  @Test func namesOfKeePass1InAnotherForm() throws {
    let table = try read(Self.keePass + #""A","u","a\b""c","",""# + "\"\n")
    #expect(secrets(table) == ["a\\b\"c"] && !table.hasBackslashes)
    // The value fits neither form.
    let broken = try read(Self.keePass + #""A","u","a\b"c","",""# + "\"\n")
    #expect(broken.items.isEmpty && broken.left.map(\.reason) == [.openQuote(line: 2)])
    let cut = try read(Self.keePass + #""A","u","a\\b","","""# + "\n" + #""B","u","a\""#)
    #expect(secrets(cut) == ["a\\b"] && cut.left.map(\.reason) == [.openQuote(line: 3)])
  }

  private static let lastPass = "url,username,password,totp,extra,name,grouping,fav\n"

  @Test func entitiesOfLastPass() throws {
    let table = try read(
      Self.lastPass
        + "https://c.example/?a=1&b=2,cy,G%W!7&amp;#,,\"a &lt;b&gt; &quot;&#39;\",C &amp; D,G,0\n,,plain,,,E,,1\n")
    #expect(secrets(table) == ["G%W!7&#", "a <b> \"'", "plain"] && table.left.isEmpty && table.unread.isEmpty)
    #expect(table.items[0].label == "C & D" && table.items[0].attributes["group"] == "G")
    // The address has a bare &, so nobody wrote it as HTML.
    #expect(table.items[0].attributes["url"] == "https://c.example/?a=1&b=2" && table.decoded == 3)
  }

  /// One value with a bare character shows that its column was not written as HTML, so &amp; means itself.
  @Test(arguments: ["a&b", "a<b", "a>b", "&copy;", "&"])
  func aColumnThatIsNotHTML(_ plain: String) throws {
    let table = try read(Self.lastPass + ",,x&amp;y,,,A,,0\n,,\(plain),,,B,,0\n")
    #expect(secrets(table) == ["x&amp;y", plain] && table.decoded == 0 && table.doubtful == 0)
  }

  @Test func entitiesOfAnotherProgramStayAndAreNamed() throws {
    let table = try read("name,url,username,password\nA,,x,p&amp;q\n")
    #expect(secrets(table) == ["p&amp;q"] && table.decoded == 0 && table.doubtful == 1)
  }

  @Test func severalAddresses() throws {
    let table = try read(
      "name,login_uri,login_password\nA,\"https://a.example,https://b.example\",p\nB,https://c.example,p\n")
    #expect(table.several == 1 && table.items[0].attributes["server"] == "a.example")
    #expect(table.items[0].attributes["url"] == "https://a.example,https://b.example")
  }
}
