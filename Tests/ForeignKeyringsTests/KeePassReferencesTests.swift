import LatchkeySecretClient
import LatchkeySodium
import Testing

@testable import LatchkeyForeignKeyrings

/// The first entry's identifier.
private let id = String(repeating: "0", count: 32)
/// "1234567890" in Base32.
private let key = "GEZDGNBVGY3TQOJQ"

/// KeePass's values that refer to other values. Tests/Integration/Import/test_import_references.py tests KeePassXC's own results.
@Suite struct KeePassReferencesTests {
  init() throws { try Sodium.initialize() }

  private func text(_ secret: Secret) -> String {
    secret.withBytes { bytes in bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
  }

  /// A database with these entries. The first entry's identifier is 16 bytes of 0, the second one's is 16 bytes of 1, and so on.
  private func read(_ entries: [[(String, String)]], attribute: String = "") throws -> KeePassExport {
    var xml = "<KeePassFile><Root><Group><Name>all</Name>"
    for (number, fields) in entries.enumerated() {
      let uuid = Base64.encode([UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 16))
      xml += "<Entry><UUID>\(uuid)</UUID>"
      for (key, value) in fields {
        let isHidden = key.hasPrefix("hidden") || key == "Password"
        xml +=
          "<String><Key>\(key)</Key><Value\(isHidden ? " ProtectInMemory=\"True\"" : attribute)>\(value)</Value></String>"
      }
      xml += "</Entry>"
    }
    xml += "</Group></Root></KeePassFile>"
    return try KeePassExport(try SecureBytes(copying: Array(xml.utf8).span.bytes)) {
      try SecureBytes(copying: $0.bytes)
    }
  }

  private func secrets(_ read: KeePassExport) -> [String] { read.items.map { text($0.secret) } }

  private static let sso = [
    ("Title", "SSO"), ("UserName", "ann"), ("Password", "real"), ("URL", "https://sso.example"), ("Notes", "n"),
  ]

  @Test(arguments: [
    ("{REF:P@I:\(id)}", "real"), ("{ref:p@i:\(id)}", "real"), ("{REF:P@T:SSO}", "real"), ("{REF:P@U:ann}", "real"),
    ("{REF:P@A:https://sso.example}", "real"), ("{REF:P@N:n}", "real"), ("{REF:U@P:real}", "ann"),
    ("{REF:T@O:real}", "SSO"),
    ("{REF:I@T:SSO}", id), ("a{REF:U@T:SSO}b{REF:N@T:SSO}c", "aannbnc"), ("{TITLE}-{username}", "App-me"),
    ("{S:own}{S:hidden}", "ovhv"), ("{UUID}", String(repeating: "01", count: 16)),
    ("{x} {} { {TITLE", "{x} {} { {TITLE"), ("{{TITLE}}", "{App}"), ("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":1}}"),
  ])
  func whatAPasswordStandsFor(_ written: String, _ meant: String) throws {
    let read = try read([
      Self.sso, [("Title", "App"), ("UserName", "me"), ("Password", written), ("own", "ov"), ("hidden", "hv")],
    ])
    #expect(secrets(read).contains(meant) && read.left.isEmpty)
  }

  @Test(arguments: [
    ("{REF:P@I:\(String(repeating: "F", count: 32))}", KeePassExport.Reason.noTarget), ("{REF:P@T:none}", .noTarget),
    ("{S:none}", .noTarget), ("{PASSWORD}", .endless), ("{REF:P@T:App}", .endless),
    ("{REF:P@T:{TITLE}}", .placeholder("REF:")),
    ("{REF:X@T:SSO}", .placeholder("REF:")), ("{REF:P}", .placeholder("REF:")), ("{REF:P@T:SSO", .placeholder("REF:")),
    ("{TOTP}", .placeholder("TOTP")), ("{DT_YEAR}", .placeholder("DT_")),
    ("{T-CONV:/x/upper/}", .placeholder("T-CONV:")),
    ("{URL:HOST}", .placeholder("URL:")), ("{NEWPASSWORD}", .placeholder("NEWPASSWORD")),
  ])
  func aPasswordThatStaysBehind(_ written: String, _ reason: KeePassExport.Reason) throws {
    let read = try read([Self.sso, [("Title", "App"), ("Password", written)]])
    #expect(secrets(read) == ["real", "n"] && read.empty.isEmpty)
    #expect(read.left == [.init(label: "App", field: "Password", reason: reason)])
  }

  @Test func attributes() throws {
    let read = try read([
      Self.sso,
      [
        ("Title", "Wiki"), ("UserName", "x{TITLE}"), ("URL", "https://{TITLE}.example/{REF:U@T:SSO}"),
        ("Password", "p"),
      ],
      [
        ("Title", "{REF:P@T:SSO}"), ("UserName", "{S:hidden}"), ("URL", "https://{USERNAME}:{PASSWORD}@Shell.example/"),
        ("Password", "p"), ("hidden", "h"),
      ],
    ])
    #expect(
      read.items[2].attributes == [
        "xdg:schema": "org.latchkey.Login", "name": "Wiki", "user": "xWiki", "url": "https://Wiki.example/ann",
        "server": "wiki.example", "field": "password",
      ])
    // The host is not secret, although the rest of the address is. People recognise the entry by its title.
    #expect(
      read.items[3].attributes == [
        "xdg:schema": "org.latchkey.Login", "name": "{REF:P@T:SSO}", "server": "shell.example", "field": "password",
      ])
    let fields = ["Title", "URL", "UserName"]
    #expect(read.left == fields.map { .init(label: "{REF:P@T:SSO}", field: $0, reason: .secretInAttribute) })
    #expect(read.items.allSatisfy { $0.attributes.values.allSatisfy { !$0.contains("real") } })
  }

  /// Notes and key sequences may have placeholders that are meant as plain text.
  @Test func textsThatExplainPlaceholders() throws {
    let sequence = "{USERNAME}{TAB}{PASSWORD}{ENTER}"
    let read = try read([
      Self.sso, [("Title", "A"), ("Notes", "Auto-Type: \(sequence)"), ("keys", sequence)],
      [("Title", "B"), ("Notes", "{REF:N@T:A} {TITLE}"), ("own", "{REF:P@T:SSO}")],
      [("Title", "C"), ("Notes", "see {REF:P@T:none}")],
    ])
    #expect(
      secrets(read).dropFirst(2) == ["Auto-Type: \(sequence)", sequence, "Auto-Type: \(sequence) {TITLE}", "real"])
    #expect(read.left == [.init(label: "C", field: "Notes", reason: .noTarget)])
  }

  @Test func theRecycleBinHoldsTargets() throws {
    let xml = """
      <KeePassFile><Meta><RecycleBinUUID>AAAA</RecycleBinUUID></Meta><Root><Group><Name>all</Name>
      <Entry><String><Key>Title</Key><Value>App</Value></String><String><Key>Password</Key><Value>{REF:P@T:old}</Value></String></Entry>
      <Group><UUID>AAAA</UUID><Entry><String><Key>Title</Key><Value>old</Value></String>
      <String><Key>Password</Key><Value>p</Value></String></Entry></Group></Group></Root></KeePassFile>
      """
    let read = try KeePassExport(try SecureBytes(copying: Array(xml.utf8).span.bytes)) {
      try SecureBytes(copying: $0.bytes)
    }
    #expect(secrets(read) == ["p"] && read.discarded == ["old"] && read.items[0].label == "App")
  }

  @Test func bounds() throws {
    // A chain of the highest allowed length, and a longer chain.
    func chain(_ length: Int) throws -> KeePassExport {
      try self.read(
        (0...length).map { number in
          [("Title", "t\(number)"), ("Password", number == length ? "end" : "{REF:P@T:t\(number + 1)}")]
        })
    }
    #expect(try secrets(chain(10)) == [String](repeating: "end", count: 11))
    let long = try chain(12)
    #expect(secrets(long) == [String](repeating: "end", count: 11) && long.left.map(\.reason) == [.endless, .endless])
    // Each value repeats the next value ten times.
    let tens = try read(
      (0..<9).map { number in
        [
          ("Title", "t\(number)"),
          ("Password", number == 8 ? "end" : String(repeating: "{REF:P@T:t\(number + 1)}", count: 10)),
        ]
      })
    #expect(tens.left.allSatisfy { $0.reason == .tooLarge } && tens.left.count == 6 && tens.items.count == 3)
    // A large value itself is kept, but references to large values are limited.
    let large = String(repeating: "{x}", count: 400_000)
    let other = try read([[("Title", "L"), ("Password", large)], [("Title", "M"), ("Password", "{REF:P@T:L}")]])
    #expect(secrets(other) == [large] && other.left.map(\.reason) == [.tooLarge])
  }

  @Test func aValueThatIsEncryptedByItself() throws {
    let read = try read([[("Title", "A"), ("own", "AAAA")]], attribute: " Protected=\"True\"")
    #expect(
      read.items.isEmpty && read.left.map(\.reason) == [.encrypted, .encrypted]
        && read.left.map(\.field) == ["Title", "own"])
  }

  // MARK: - one-time passwords

  private static let beginning = "otpauth://totp/A%20b:me?secret=\(key)"

  @Test(arguments: [
    ([("TimeOtp-Secret-Base32", "gezd gnbv-gy3t qojq====")], "&period=30&digits=6&issuer=A%20b"),
    (
      [
        ("TimeOtp-Secret", "1234567890"), ("TimeOtp-Length", "8"), ("TimeOtp-Period", "60"),
        ("TimeOtp-Algorithm", "HMAC-SHA-256"),
      ],
      "&period=60&digits=8&issuer=A%20b&algorithm=SHA256"
    ),
    (
      [("TimeOtp-Secret-Hex", "31323334353637383930"), ("TimeOtp-Algorithm", "HMAC-SHA-1")],
      "&period=30&digits=6&issuer=A%20b"
    ),
    ([("TimeOtp-Secret-Base64", "MTIzNDU2Nzg5MA==")], "&period=30&digits=6&issuer=A%20b"),
    ([("TOTP Seed", key), ("TOTP Settings", "30;6")], "&period=30&digits=6&issuer=A%20b"),
    ([("TOTP Seed", key), ("TOTP Settings", "30;S")], "&period=30&digits=5&issuer=A%20b&encoder=steam"),
    (
      [("otp", "key=\(key)&amp;size=8&amp;step=60&amp;otpHashMode=Sha512")],
      "&period=60&digits=8&issuer=A%20b&algorithm=SHA512"
    ),
  ])
  func settingsOfOneTimePasswords(_ fields: [(String, String)], _ end: String) throws {
    let read = try read([[("Title", "A b"), ("UserName", "me")] + fields])
    #expect(secrets(read) == [Self.beginning + end] && read.items[0].attributes["field"] == "totp" && read.left.isEmpty)
  }

  @Test func aCounter() throws {
    let read = try read([[("Title", "A"), ("HmacOtp-Secret-Base32", key), ("HmacOtp-Counter", "7")]])
    #expect(secrets(read) == ["otpauth://hotp/A?secret=\(key)&counter=7&digits=6&issuer=A"])
  }

  /// Unknown settings are imported unchanged, and the report names them.
  @Test(arguments: [
    [("TimeOtp-Secret-Hex", "zz")], [("TimeOtp-Secret-Base32", "018")],
    [("TimeOtp-Secret", "a"), ("TimeOtp-Secret-Hex", "61")],
    [("TimeOtp-Secret", "a"), ("TimeOtp-Algorithm", "MD5")], [("TimeOtp-Secret", "a"), ("TimeOtp-Length", "0")],
    [("TimeOtp-Secret", "a"), ("TimeOtp-Period", "x")], [("TOTP Seed", key)],
    [("TOTP Seed", key), ("TOTP Settings", "30;6;url")],
    [("TOTP Settings", "30;6")], [("HmacOtp-Secret", "a")],
    [("otp", "otpauth://totp/x?secret=\(key)"), ("TimeOtp-Secret", "a")],
  ])
  func settingsThatAreNotUnderstood(_ fields: [(String, String)]) throws {
    let read = try read([[("Title", "A")] + fields])
    #expect(Set(secrets(read)) == Set(fields.map(\.1)) && read.items.count == fields.count)
    #expect(read.left.map(\.reason) == [.oneTimePassword])
  }
}
