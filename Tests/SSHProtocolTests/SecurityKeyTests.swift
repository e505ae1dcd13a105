import LatchkeySodium
import Testing

@testable import LatchkeySSHProtocol

@Suite("Keys of security keys")
struct SecurityKeyTests {
  private static let kind = SecurityKey.Algorithm.ed25519

  private static func blob(_ point: [UInt8], _ application: String) -> [UInt8] {
    var out = SSHWriter()
    out.text(kind.rawValue)
    out.string(point)
    out.text(application)
    return out.bytes
  }

  @Test("a signature is valid only with the device's flags and counter, and for its application")
  func signature() throws {
    try Sodium.initialize()
    let secret = try Ed25519.makeSecretKey()
    let point = secret.bytes.octets(32..<64)
    let key = try PublicKey(blob: Self.blob(point, "ssh:"))
    let message: [UInt8] = [1, 2, 3]
    let state: [UInt8] = [1, 0, 0, 0, 7]
    let signed = SecurityKey.signed(message.span.bytes, application: Array("ssh:".utf8), state: state)
    var out = SSHWriter()
    out.text(Self.kind.rawValue)
    out.string(try Ed25519.sign(signed.span.bytes, secretKey: secret.bytes))
    let front = out.bytes
    let other = try PublicKey(blob: Self.blob(point, "ssh:more"))
    for (key, state, fits) in [
      (key, state, true), (key, [0, 0, 0, 0, 7], false), (key, [], false), (other, state, false),
    ] {
      let isSignature = key.isSignature(front + state, of: message.span.bytes)
      #expect(isSignature == fits, "\(state)")
    }
  }

  @Test("a key for a web site does not sign unknown data")
  func application() throws {
    let point = [UInt8](repeating: 1, count: 32)
    #expect(try PublicKey(blob: Self.blob(point, "ssh:work")).signsUnknownData)
    #expect(try !PublicKey(blob: Self.blob(point, "example.com")).signsUnknownData)
  }

  @Test("a list of libraries has patterns, and a forbidden library stays forbidden")
  func providers() {
    for (list, path, allows) in [
      ("", "/usr/lib/a.so", false), ("/usr/lib/*", "/usr/lib/a.so", true), ("/opt/*", "/usr/lib/a.so", false),
      ("/opt/*,/usr/lib/a.so", "/usr/lib/a.so", true), ("/usr/lib/*,!*/a.so", "/usr/lib/a.so", false),
    ] {
      #expect(ProviderList(list).allows(path) == allows, "\(list) \(path)")
    }
  }
}
