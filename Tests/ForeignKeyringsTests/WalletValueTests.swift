import LatchkeySecretClient
import LatchkeySodium
import Testing

@testable import LatchkeyForeignKeyrings

/// The values of entries as Qt writes them, made from the vault's items and read back.
@Suite struct WalletValueTests {
  init() throws { try Sodium.initialize() }

  private func memory(_ text: String) throws -> SecureBytes { try SecureBytes(copying: Array(text.utf8).span.bytes) }

  /// A map of the vault after its conversion to KWallet's form and back.
  private func returned(_ json: String) throws -> String? {
    guard let value = try WalletValue.map(try memory(json)) else { return nil }
    let item = try WalletContent.item(value, 0..<value.count, .map, folder: "f", entry: "e")
    #expect(item.attributes["type"] == "map")
    return item.secret.withBytes { bytes in bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
  }

  @Test(arguments: [
    "{}", #"{"a":"b"}"#, #"{"":"","a":"\u0001\n\"\\","ä😀":"😀"}"#, #"{"a":"\u0000","b":"\u0000\u0000"}"#,
  ]) func aMapComesBack(json: String) throws {
    #expect(try returned(json) == json)
  }

  @Test func otherValuesAreEmpty() throws {
    #expect(
      try returned(#" { "n" : 1 , "o":{"x":[1]},"t":true,"s":"\u00e4\/" } "#) == #"{"n":"","o":"","s":"ä/","t":""}"#)
  }

  @Test(arguments: ["", "[]", "{", #"{"a"}"#, #"{"a":"b"}x"#, #"{"a":"b",}"#, "1", "{\"a\":\"\u{1}\"}"])
  func noMapIsNone(json: String) throws { #expect(try returned(json) == nil) }

  @Test(arguments: ["", "a", "ä😀\u{0}"]) func aTextComesBack(text: String) throws {
    let value = try WalletValue.string(try memory(text))
    let item = try WalletContent.item(value, 0..<value.count, .password, folder: "f", entry: "e")
    #expect(item.attributes["type"] == "plaintext")
    item.secret.withBytes { bytes in
      bytes.withUnsafeBytes { #expect(String(decoding: $0, as: UTF8.self) == text) }
    }
  }
}
