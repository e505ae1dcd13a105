import LatchkeySecretClient
import LatchkeySodium
import Testing

@testable import LatchkeyForeignKeyrings

/// Exports that programs write, and content that they never write. Tests/Integration/Export/test_export.py has real exports.
@Suite struct JSONExportTests {
  init() throws { try Sodium.initialize() }

  private func read(_ text: String) throws -> JSONExport {
    try JSONExport(try SecureBytes(copying: Array(text.utf8).span.bytes))
  }
  private func octets(_ secret: Secret) -> [UInt8] {
    secret.withBytes { bytes in bytes.withUnsafeBytes { Array($0) } }
  }

  private static let item =
    #"{"label":"a","attributes":{"n":"v","e":""},"class":"always","require":"","created":1,"modified":18446744073709551615,"content_type":"t","secret":"s"}"#

  private static func file(_ items: String, head: String = #""format":"latchkey-export","version":1"#) -> String {
    "{\(head),\"default\":\"c2\",\"collections\":[{\"name\":\"c2\",\"label\":\"L\",\"items\":[\(items)]}]}"
  }

  @Test func everythingOfAnItem() throws {
    let export = try read(Self.file(Self.item))
    #expect(export.standard == "c2" && export.collections.map(\.name) == ["c2"])
    let item = try #require(export.collections.first?.items.first)
    #expect(item.label == "a" && item.attributes == ["n": "v", "e": ""] && item.created == 1)
    #expect(item.modified == .max && item.secret.contentType == "t" && octets(item.secret) == [0x73])
    #expect(item.protection == .init(accessible: "always", require: ""))
  }

  @Test func secretsOfAllKinds() throws {
    for (written, expected) in [
      (#""secret":"""#, []), (#""secret":"\u0000\n\"\\\/\b\f\r\t""#, [0, 10, 34, 92, 47, 8, 12, 13, 9]),
      (#""secret":"\u00e4ä\ud83d\udd11","secret_base64":null"#, Array("ää🔑".utf8)),
      (#""secret":null,"secret_base64":"AP8=""#, [0, 255]), (#""secret_base64":"""#, []),
    ] as [(String, [UInt8])] {
      let export = try read(Self.file("{\"label\":\"\",\"attributes\":{},\(written)}"))
      let item = try #require(export.collections.first?.items.first)
      #expect(octets(item.secret) == expected, "\(written)")
    }
  }

  @Test func whatIsNotKnownIsPassedOver() throws {
    let more = #""x":[{"y":-1.5e+3,"z":[true,false,null,"\"]}"]}],"#
    let export = try read(
      Self.file("{\(more)\(Self.item.dropFirst())", head: "\(more)\"format\":\"latchkey-export\",\"version\":1"))
    #expect(export.collections.first?.items.count == 1)
  }

  @Test func everyCutIsAnError() throws {
    let all = Array(Self.file(Self.item + "," + #"{"label":"ä","attributes":{},"secret_base64":"AP8="}"#).utf8)
    for count in 0..<all.count {
      let cut = try SecureBytes(copying: Array(all[..<count]).span.bytes)
      #expect(throws: ForeignFileError.self, "\(count)") { _ = try JSONExport(cut) }
    }
  }

  @Test(arguments: [
    #"{"label":"a","attributes":{}}"#, #"{"label":"a","secret":"s"}"#, #"{"attributes":{},"secret":"s"}"#,
    #"{"label":"a","attributes":{},"secret":"s","secret_base64":"AP8="}"#,
    #"{"label":"a","attributes":{},"secret":"s","secret":"t"}"#,
    #"{"label":"a","attributes":{"n":"1","n":"2"},"secret":"s"}"#, #"{"label":"a","attributes":{"n":1},"secret":"s"}"#,
    #"{"label":"a\u0000","attributes":{},"secret":"s"}"#, #"{"label":"a","attributes":{},"secret":"\ud800"}"#,
    #"{"label":"a","attributes":{},"secret":"\udc00\ud800"}"#,
    #"{"label":"a","attributes":{},"secret":"\ud800\u0041"}"#,
    #"{"label":"a","attributes":{},"secret":"\u12g4"}"#, #"{"label":"a","attributes":{},"secret":"\x"}"#,
    #"{"label":"a","attributes":{},"secret_base64":"AP8"}"#,
    #"{"label":"a","attributes":{},"secret":"s","created":-1}"#,
    #"{"label":"a","attributes":{},"secret":"s","created":01}"#,
    #"{"label":"a","attributes":{},"secret":"s","created":1.5}"#,
    #"{"label":"a","attributes":{},"secret":"s","created":18446744073709551616}"#,
    #"{"label":"a","attributes":{},"secret":"s",}"#, #"{"label":"a" "attributes":{},"secret":"s"}"#, "[]", "1", "",
    "{\"label\":\"a\",\"attributes\":{},\"secret\":\"\n\"}",
  ])
  func whatIsNeverWrittenIsAnError(_ item: String) {
    #expect(throws: ForeignFileError.self) { try read(Self.file(item.isEmpty ? "{}" : item)) }
  }

  @Test func otherFiles() throws {
    #expect(throws: ForeignFileError.newerExport) {
      try read(Self.file("", head: #""format":"latchkey-export","version":2"#))
    }
    #expect(throws: ForeignFileError.unknownFormat) { try read(Self.file("", head: #""format":"other","version":1"#)) }
    for text in ["", "{}", "[]", "x", #"{"format":"latchkey-export"}"#] {
      #expect(throws: ForeignFileError.unknownFormat) { try read(text) }
    }
    #expect(throws: ForeignFileError.damaged) { try read(#"{"format":"latchkey-export","version":1}"#) }
    #expect(throws: ForeignFileError.damaged) { try read(Self.file(Self.item) + "x") }
    let deep = String(repeating: "[", count: 1000)
    #expect(throws: ForeignFileError.tooLarge) { try read("{\"x\":\(deep)") }
    let bytes = try SecureBytes(copying: ([0x7b, 0x22, 0xff] as [UInt8]).span.bytes)
    #expect(throws: ForeignFileError.notText) { _ = try JSONExport(bytes) }
  }
}

/// Secrets of the portal, in the form of other providers.
@Suite struct PortalSecretTests {
  init() throws { try Sodium.initialize() }

  private func marked(_ attributes: [String: String], size: Int = 64) throws -> [String: String] {
    let secret = Secret(try SecureBytes(copying: [UInt8](repeating: 7, count: size).span.bytes))
    return ForeignItem(label: "l", attributes: attributes, secret: secret).markedForPortal.attributes
  }

  @Test func anImportMarksThem() throws {
    let portal = ["app_id": "org.example.App", "xdg:schema": "org.freedesktop.portal.Secret"]
    #expect(try marked(["app_id": "org.example.App"]) == portal)
    #expect(try marked(["app_id": "org.example.App", "xdg:schema": "org.freedesktop.Secret.Generic"]) == portal)
    #expect(try marked(portal) == portal)
  }

  @Test func itMarksNothingElse() throws {
    let others = [
      ["app_id": "x", "xdg:schema": "org.example.Own"], ["app_id": "x", "user": "me"], ["application": "x"], [:],
    ]
    for attributes in others { #expect(try marked(attributes) == attributes) }
    #expect(try marked(["app_id": "x"], size: 63) == ["app_id": "x"])
  }
}
