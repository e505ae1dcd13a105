import Testing

@testable import LatchkeyGcrypt

@Suite("Diffie-Hellman over RFC 3526 group 5")
struct SystemPrompterGroupTests {
  /// Results of Python's `pow` and `hmac` and of the package cryptography, with the prime by the formula of the RFC.
  @Test("The key agreement agrees with another implementation")
  func knownAnswer() throws {
    let privateKey = bytes(
      hex: """
        593da8a9b724f8370dca8b6481b5b8a571912a62dba2db17b61ff26797d2b3f77ab27340437f909c5a366d5c33685652
        526db5d04c05076319c8cb4303a41a4d871fa8e9edce9262e0e5492a463452e7e3b52a8bb8deca7f9029769752fd2fd5
        3df847d5143589bea6f9ca45270196344032dc0d07c3819eb96c1fa6301d044db1129aba383469c839b4e24da3b5b70e
        b0eb9fc7193b091e0259ecc786716ce8425cce22992a48f5f483cbd58cbe866e29a5157da51d184d862c69fc39069a
        """)
    let publicKey = bytes(
      hex: """
        bfd0ae393ea1379cda323203e406fbad9b8388738b401f7128efd0028fc4cc388eddcf69893e0bc80f1dd564df9da643
        90309f8f682e4fb21f72aa11b4c3e387ae75b2a8eccbfb2af87e6f999648cbd7e6d8b06f0042df00f56ca8ed4085a548
        aecfaddc059f08d2d792ac66f2a85ca3b1b377397d9c92c7f41ed06a42b6ce80257cceb6ccc3e46e39e5e3d524fb9eaf
        4451557499c353969bfd00cd1f21d1f3a8a9c1c20a75621445617868d6735b711697c9a3b2c7da72840646dd6507c52d
        """)
    let peer = bytes(
      hex: """
        ed9e3a74fd0f3612448c4a574a40de72d6a0f39785c69407a7e76c707986793f18dddbc523477edc9529c99c737429b2
        d4a65ce618f9aae149f07b809e15d1f059c05e3b63a694a90f14ecb933389690b0cde10f73f32b68eaecc295fa6daa1f
        e2cbf0dcb9511aca94f113534e6aa8cd31599c0c16cbd7a053c0d105fc61c958bee9cde1d093b7fb871aa7934211aac7
        0740f82a3fdab7cf6621470e258128dd35458e92438213f08f586f9a48a5ea5da9b88d44a4e9f0aa9976a08e965ea657
        """)
    let number = try SecureMemory(copying: privateKey).withBytes { (bytes) throws(GcryptError) in
      try Integer(bigEndian: bytes.bytes)
    }
    let agreement = try KeyAgreement(privateKey: number, group: .systemPrompter)
    #expect(agreement.publicKey == publicKey)
    let cipher = try #require(try agreement.agree(peerPublicKey: peer))
    let sealed = bytes(hex: "e3861c0299ce578307e5479af9ee091d7fb9a4f041e22decc1219dc66e37a351")
    #expect(
      try cipher.decrypt(sealed, iv: bytes(hex: "a56871c7ca68e390c036ae43ef52c7ca"))
        == Array("korrekt Pferd ü".utf8))
  }

  @Test("keys of the other group, and keys of small order, are refused")
  func badKeys() throws {
    let group = ModularGroup.systemPrompter
    let limit = try group.publicKeyLimit().bigEndian(byteCount: 192).withBytes { (bytes) throws(GcryptError) in
      Array(bytes)
    }
    for key in [[], [0], [1], limit, [UInt8](repeating: 255, count: 192), [UInt8](repeating: 1, count: 194)] {
      #expect(throws: GcryptError.badPublicKey) {
        _ = try KeyAgreement.respond(to: key.span.bytes, group: group)
      }
    }
    // The number is too large for the smaller group.
    #expect(throws: GcryptError.badPublicKey) { try KeyAgreement.respond(to: [UInt8](repeating: 1, count: 192)) }
    let ones = [UInt8](repeating: 1, count: 192)
    let key = try KeyAgreement.respond(to: ones.span.bytes, group: group).publicKey
    #expect(key.count == 192 && key[0] != 0)
  }
}
