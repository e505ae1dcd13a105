import LatchkeyGcrypt
import LatchkeySodium

extension PrivateKey {
  /// Makes a new key.
  public static func generate(_ kind: NewKeyKind) throws -> PrivateKey {
    switch kind {
    case .ed25519: return try generate()
    case .ecdsa(let curve):
      let new = try GeneratedKey(curve)
      return try assemble(PublicKey.Kind.ecdsa(curve).name, [curve.rawValue], new, ["q", "d"])
    case .rsa(let bits):
      let new = try GeneratedKey(rsaBits: bits)
      // libgcrypt stores the inverse of the first prime modulo the second prime. Key files have the two primes in the other order.
      return try assemble(PublicKey.Kind.rsa.name, [], new, ["n", "e", "d", "u", "q", "p"])
    }
  }

  /// Makes a key of fields: first some texts, and then numbers of a new key pair.
  private static func assemble(
    _ type: String, _ texts: [String], _ new: borrowing GeneratedKey, _ numbers: [String]
  ) throws -> PrivateKey {
    var front = SSHWriter()
    for text in [type] + texts { front.text(text) }
    var size = front.bytes.count
    for name in numbers { size += try new.withNumber(name) { 4 + $0.byteCount } }
    var fields = try SecureBytes(count: size)
    fields.write(front.bytes.span.bytes, at: 0)
    var place = front.bytes.count
    for name in numbers {
      let count = try new.withNumber(name) { number in
        var length = SSHWriter()
        length.number(UInt32(number.byteCount))
        fields.write(length.bytes.span.bytes, at: place)
        fields.write(number, at: place + 4)
        return number.byteCount
      }
      place += 4 + count
    }
    var reader = SSHReader(0..<fields.count)
    let key = try PrivateKey(fields.bytes, &reader)
    guard key.isConsistent else { throw Failure.malformed }
    return key
  }
}

/// The kinds of keys that can be created.
public enum NewKeyKind: Equatable, Sendable {
  case ed25519
  case ecdsa(NamedCurve)
  /// RSA, with a modulus of this many bits.
  case rsa(bits: Int)

  /// The size of an RSA key if the person chooses none.
  public static let usualBits = 3072
  /// The allowed sizes of an RSA key.
  public static let bits = 2048...8192

  /// Reads the words of `ssh-keygen -t` and `-b`; nil if they do not fit together.
  public init?(type: String, bits: Int?) {
    switch (type, bits) {
    case ("ed25519", nil): self = .ed25519
    case ("ecdsa", nil), ("ecdsa", 256): self = .ecdsa(.p256)
    case ("ecdsa", 384): self = .ecdsa(.p384)
    case ("ecdsa", 521): self = .ecdsa(.p521)
    case ("rsa", let bits):
      let bits = bits ?? Self.usualBits
      guard Self.bits.contains(bits), bits % 8 == 0 else { return nil }
      self = .rsa(bits: bits)
    default: return nil
    }
  }
}
