import LatchkeySecretClient
import LatchkeySodium
import Testing

@testable import LatchkeyForeignKeyrings

/// Readers of other programs' files, with the content that a hostile file may have. Tests/Integration/Import/test_import.py has
/// files of the real programs.
@Suite struct KeyringFileTests {
  init() throws { try Sodium.initialize() }

  private func memory(_ text: String) throws -> SecureBytes { try SecureBytes(copying: Array(text.utf8).span.bytes) }

  private func text(_ secret: Secret) -> String {
    secret.withBytes { bytes in bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
  }

  private func read(_ text: String) throws -> ForeignCollection {
    try KeyringFile.read(try memory(text), name: "login", password: try memory(""))
  }

  private static let textual = """
    [keyring]
    display-name=My \\\\ ring\\n
    ctime=0

    [7]
    item-type=1
    display-name=\\sFirst
    secret=one
    [not a header]
    key=value

    \\n=raw
    mtime=200
    ctime=100

    [7:attribute0]
    name=server
    type=string
    value=\\sa\\tb

    [7:attribute1]
    name=port
    type=uint32
    value=22

    [9]
    item-type=0
    display-name=Second
    binary-secret=00ff0A
    mtime=3
    ctime=2
    """

  @Test func aTextualKeyringWithASecretOfManyLines() throws {
    let read = try read(Self.textual)
    #expect(read.label == "My \\ ring\n" && read.items.map(\.label) == [" First", "Second"])
    #expect(text(read.items[0].secret) == "one\n[not a header]\nkey=value\n\n\\n=raw")
    #expect(
      read.items[0].attributes == [
        "server": " a\tb", "port": "22", "xdg:schema": "org.gnome.keyring.NetworkPassword",
      ])
    #expect(read.items[0].modified == 200 && read.items[0].created == 100)
    let octets = read.items[1].secret.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
    #expect(octets == [0, 255, 10] && read.items[1].attributes == [:])
  }

  @Test func everyPrefixOfATextualKeyringEnds() throws {
    let all = Array(Self.textual.utf8)
    for count in 0..<all.count {
      let cut = try SecureBytes(copying: Array(all[..<count]).span.bytes)
      _ = try? KeyringFile.read(cut, name: "login", password: try memory(""))
    }
  }

  @Test func attributesWithoutAnItemCountAsOne() throws {
    func text(_ items: Range<Int>) -> String {
      items.reduce(into: "[keyring]\n") { $0 += "[\($1):attribute0]\n" }
    }
    func read(_ text: String) throws { _ = try KeyringFile.read(try memory(text), name: "a", password: try memory("")) }
    let most = text(0..<KeyringFile.itemLimit)
    try read(most + "[7]\n")
    for next in ["[100000:attribute0]\n", "[100000]\n"] {
      #expect(throws: ForeignFileError.tooLarge) { try read(most + next) }
    }
  }

  @Test func hugeCountsAreAnError() throws {
    let magic = Array("GnomeKeyring\n\r\0\n".utf8)
    let zeros = [UInt8](repeating: 0, count: 24)
    let start = magic + [0, 0, 0, 0] + [0, 0, 0, 1, 0x61] + zeros
    let salt = [UInt8](repeating: 1, count: 24)
    func read(_ bytes: [UInt8]) throws(ForeignFileError) {
      guard let empty = try? SecureBytes(count: 0), let file = try? SecureBytes(copying: bytes.span.bytes) else {
        throw .noMemory
      }
      _ = try KeyringFile.read(file, name: "a", password: empty)
    }
    // A number of rounds that would take hours, and the number 0.
    #expect(throws: ForeignFileError.damaged) { try read(start + [0xff, 0xff, 0xff, 0xff] + salt) }
    #expect(throws: ForeignFileError.damaged) { try read(start + [0, 0, 0, 0] + salt) }
    // Too many items, and too many attributes of one item.
    let rounds: [UInt8] = [0, 0, 0, 1]
    #expect(throws: ForeignFileError.tooLarge) { try read(start + rounds + salt + [0xff, 0xff, 0xff, 0xfe]) }
    #expect(throws: ForeignFileError.damaged) { try read(start + rounds + salt + [0, 0, 0x80, 0]) }
    let item: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]
    #expect(throws: ForeignFileError.tooLarge) { try read(start + rounds + salt + item + [0x7f, 0, 0, 0]) }
    // A keyring without items, and a body that is no multiple of the block size.
    #expect(throws: ForeignFileError.damaged) { try read(start + rounds + salt + [0, 0, 0, 0, 0, 0, 0, 1, 5]) }
    // A body for another password.
    let body = [0, 0, 0, 0, 0, 0, 0, 32] + [UInt8](repeating: 9, count: 32)
    #expect(throws: ForeignFileError.wrongPassword) { try read(start + rounds + salt + body) }
    #expect(throws: ForeignFileError.unknownVersion) { try read(magic + [2, 0, 0, 0]) }
    // Only oo7's exact form is accepted.
    #expect(throws: ForeignFileError.damaged) { try read(magic + [1, 0]) }
    #expect(throws: ForeignFileError.damaged) { try read(magic + [1, 0, 0, 0]) }
    #expect(throws: ForeignFileError.unknownFormat) { try read(Array("hello".utf8)) }
    #expect(throws: ForeignFileError.unknownFormat) { try read([]) }
  }

  // MARK: - CSV

  private func table(
    _ text: String, _ named: [PasswordTable.Column: String] = [:]
  ) throws -> PasswordTable.Contents {
    try PasswordTable.read(try memory(text), named: named)
  }

  @Test func quotesAndLineEndsWithinThem() throws {
    let read = try table(
      "\u{feff}name,url,username,password,note\r\nA,https://u@a.org:8/x,me,\"p,\"\"\n\",\"two\r\nlines\"\r\n,,,,\n")
    #expect(read.left.map(\.number) == [3] && read.items.count == 2)
    #expect(text(read.items[0].secret) == "p,\"\n" && text(read.items[1].secret) == "two\r\nlines")
    #expect(
      read.items[0].attributes == [
        "xdg:schema": "org.latchkey.Login", "url": "https://u@a.org:8/x", "server": "a.org", "user": "me",
        "field": "password",
      ])
    #expect(read.items[1].label == "A (notes)" && read.items[1].attributes["field"] == "notes")
  }

  @Test func columnsOfOtherNames() throws {
    #expect(throws: ForeignFileError.unknownFormat) { try table("a,b\n1,2\n") }
    let read = try table("Konto,Kennwort\nme,secret\n", [.user: "konto", .password: "Kennwort"])
    #expect(read.items.map(\.label) == ["me"] && text(read.items[0].secret) == "secret")
    #expect(read.unread == [])
    let colours = try table("password,Farbe,guid\np,rot,1\n")
    #expect(colours.unread == ["Farbe"])
    #expect(throws: ForeignFileError.noColumn("Benutzr", has: ["Konto", "Kennwort"])) {
      try table("Konto,Kennwort\nme,secret\n", [.user: "Benutzr", .password: "Kennwort"])
    }
    // A short row has no password.
    #expect(try table("url,password\nhttps://a\n").left.map(\.label) == ["a"])
  }

  /// The secrets of a table with Chromium's columns, and its rejected rows.
  private func chromium(_ rows: String) throws -> ([String], [PasswordTable.LeftRow]) {
    let read = try table("name,url,username,password,note\n" + rows)
    return (read.items.map { text($0.secret) }, read.left)
  }

  @Test(arguments: [
    "A,https://a,me,pa,ss,word\n", "A,https://a,me,pa,ss,\n", "A,https://a,me,pa,ss,,\n", "A,https://a,me,\"p\",n,x\n",
    "A, or so,https://a,me,p,\n", "A,https://a,me,p,n" + String(repeating: ",x", count: 70) + "\n",
  ])
  func aRowWithTooManyFieldsStaysBehind(_ row: String) throws {
    let (secrets, left) = try chromium("\n\"B\nb\",https://b,me,b,\n\(row)C,https://c,me,c,\n")
    #expect(secrets == ["b", "c"])
    // Three rows come before the broken row: the header, an empty line, and a row of two lines.
    #expect(left == [.init(number: 3, label: "A", reason: .tooManyFields(line: 5))])
  }

  @Test(arguments: [
    "A,https://a,me,p,,,\n", "A,https://a,me,p\n", "A,https://a,me,\"p\",,\"\"\n", "A,https://a,me,p,",
    "A,https://a,me,p" + String(repeating: ",", count: 70) + "\n",
  ])
  func emptyFieldsAtTheEndLoseNothing(_ row: String) throws {
    let (secrets, left) = try chromium(row)
    #expect(secrets == ["p"] && left == [])
  }

  @Test func columnsThatASpreadsheetAdded() throws {
    let read = try table("url,password,note,,\nhttps://a,pa,ss,word,\nhttps://b,b,n,,\n")
    #expect(read.items.map { text($0.secret) } == ["b", "n"])
    #expect(read.left == [.init(number: 2, label: "a", reason: .tooManyFields(line: 2))])
    // A first column without a name, which has numbers.
    #expect(try table(",url,password\n0,https://a,p\n").left == [])
  }

  @Test func theLabelOfARowThatStaysBehindIsNoSecret() throws {
    let read = try table("url,password,extra,name\nhttps://a,pa,ss,secret,A\nhttps://b,pa,ss,secret,\"B\n")
    #expect(read.left.map(\.label) == ["a", "b"] && read.items.isEmpty)
    // A column with another name may also have a secret.
    #expect(try table("url,extra,name,password\nhttps://c,n,secret,C,p\n").left.map(\.label) == ["c"])
  }

  @Test func aQuoteWithinAFieldWithoutQuotesIsAPartOfIt() throws {
    let (secrets, left) = try chromium("A,https://a,me,p\"q,n\"\nB,https://b,me,\"\"\"q\"\"\",\n")
    #expect(secrets == ["p\"q", "n\"", "\"q\""] && left == [])
  }

  @Test(arguments: [
    // A quote that is never closed, a quote that another row closes, and a value with single quotes inside.
    "\"open,\nC,https://c,me,c,\n", "\"open,\nC,https://c,me,\"c\",\n", "\"p\"q\",\nC,https://c,me,c,\n", "\"",
  ])
  func nothingIsReadBehindAQuoteThatIsNotClosed(_ rest: String) throws {
    let (secrets, left) = try chromium("B,https://b,me,b,\n\"A\nA\",https://a,me,\(rest)")
    #expect(secrets == ["b"] && left == [.init(number: 3, label: "A\nA", reason: .openQuote(line: 4))])
  }

  @Test func aFileThatEndsWithinARow() throws {
    let (secrets, left) = try chromium("B,https://b,me,b,\r\nA,https://a,me,par")
    #expect(secrets == ["b"] && left == [.init(number: 3, label: "A", reason: .cutOff)])
  }

  @Test func linesOfEveryKindAreCounted() throws {
    let (_, left) = try chromium("B,https://b,me,b,\"1\r\n2\r3\n\"\r\n\r\nA,https://a,me,\"p")
    #expect(left.map(\.reason) == [.openQuote(line: 7)])
  }

  @Test func aBrokenFirstRowIsAnError() {
    #expect(throws: ForeignFileError.openQuote(line: 2)) { try table("\"na\nme\",\"password\na,b\n") }
    #expect(throws: ForeignFileError.openQuote(line: 1)) { try table("\"password\"x\np\n") }
    #expect(throws: ForeignFileError.tooLarge) { try table("password" + String(repeating: ",", count: 64)) }
  }

  @Test func moments() {
    #expect(CalendarTime.seconds("2026-11-22") == 1_795_305_600)
    #expect(CalendarTime.seconds("1970-01-01T00:01:05Z") == 65)
    for wrong in ["2026-02-31", "2026-1-1", "x", "", "2026-11-22T10:00", "99999999-01-01", "+026-11-22"] {
      #expect(CalendarTime.seconds(wrong) == nil, "\(wrong)")
    }
    #expect(PasswordTable.time("1700000000000") == 1_700_000_000)
  }
}
