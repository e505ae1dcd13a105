import LatchkeySodium
import Testing

@testable import LatchkeySSHProtocol

@Suite("Hosts to which a key may go")
struct DestinationTests {
  /// A host's certificate from an authority. `signer` makes the signature.
  private func certificate(
    of host: PublicKey, by authority: PublicKey, signer: borrowing PrivateKey, valid: Range<UInt64> = 100..<200,
    kind: UInt32 = 2, options: [UInt8] = []
  ) throws -> PublicKey {
    guard case .ed25519(let point) = host.numbers else { throw SSHReader.Malformed() }
    var out = SSHWriter()
    out.text("ssh-ed25519" + PublicKey.certificateSuffix)
    out.string([UInt8](repeating: 7, count: 32))
    out.string(point)
    for number in [0, 0, kind] { out.number(number) }
    out.text("id")
    var names = SSHWriter()
    names.text("home")
    out.string(names.bytes)
    for moment in [valid.lowerBound, valid.upperBound] {
      out.number(UInt32(moment >> 32))
      out.number(UInt32(truncatingIfNeeded: moment))
    }
    for field in [options, [], []] { out.string(field) }
    out.string(authority.blob)
    let signature = signer.sign(out.bytes.span.bytes, [])
    out.string(try #require(signature))
    return try PublicKey(blob: out.bytes)
  }

  @Test("a host's certificate needs its authority's own signature, and must be valid now")
  func certificates() throws {
    try Sodium.initialize()
    let authority = try PrivateKey.generate()
    let other = try PrivateKey.generate()
    let host = try PrivateKey.generate()
    let (key, known) = (host.publicKey, authority.publicKey)
    let right = try certificate(of: key, by: known, signer: authority)
    #expect(right.isCertified(by: known, as: "home", now: 100))
    #expect(right.isCertified(by: known, as: "home", now: 199))
    #expect(!right.isCertified(by: known, as: "home", now: 99))
    #expect(!right.isCertified(by: known, as: "home", now: 200))
    #expect(!right.isCertified(by: known, as: "far", now: 100))
    let otherKey = other.publicKey
    #expect(!right.isCertified(by: otherKey, as: "home", now: 100))
    for wrong in [
      key, try certificate(of: key, by: known, signer: other), try certificate(of: key, by: known, signer: host),
      try certificate(of: key, by: known, signer: authority, kind: 1),
      try certificate(of: key, by: known, signer: authority, options: [1]),
    ] {
      #expect(!wrong.isCertified(by: known, as: "home", now: 100))
    }
    // An authority is a plain key, never a certificate.
    let chained = try certificate(of: key, by: right, signer: host)
    #expect(!chained.isCertified(by: right, as: "home", now: 100))
  }

  @Test("RSA keys that are slow to use are refused")
  func sizes() throws {
    func key(exponent: [UInt8], modulus: Int) -> PublicKey? {
      var out = SSHWriter()
      out.text("ssh-rsa")
      out.integer(exponent)
      out.integer([UInt8](repeating: 0xff, count: modulus))
      return try? PublicKey(blob: out.bytes)
    }
    #expect(key(exponent: [1, 0, 1], modulus: 1024) != nil)
    #expect(key(exponent: [UInt8](repeating: 0xff, count: 8), modulus: 256) != nil)
    #expect(key(exponent: [UInt8](repeating: 1, count: 9), modulus: 256) == nil)
    #expect(key(exponent: [0], modulus: 256) == nil)
    #expect(key(exponent: [1, 0, 1], modulus: 1025) == nil)
  }
}
