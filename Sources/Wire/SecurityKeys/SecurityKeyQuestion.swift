import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// One question to `latchkey-security-key`.
public struct SecurityKeyQuestion: ~Copyable {
  /// The kinds of work.
  public enum Work: UInt8, Sendable {
    /// To say which key is connected, and whether it can be used. This needs neither a PIN nor a touch.
    case look = 1
    /// To make a credential, and to answer the challenge with it. This needs two touches.
    case enroll = 2
    /// To answer the challenge with a credential of the vault. This needs one touch.
    case answer = 3
  }

  /// The version of the conversation. Both programs come in one package, so both have the same version.
  static let version: UInt8 = 1
  /// The longest PIN that CTAP allows, in bytes.
  public static let pinLimit = 63

  /// The work that this question asks for.
  public let work: Work
  /// The relying party: the name that the vault has for security keys.
  public let party: String
  /// The vault's challenge, which is its salt.
  public let challenge: [UInt8]
  /// The vault's id.
  public let vault: [UInt8]
  /// The credentials of the keys that are enrolled.
  public let credentials: [[UInt8]]
  /// The PIN with a zero byte at its end; empty if there is none.
  public private(set) var pin: SecureBytes

  /// A question about the vault of a keybag.
  public init(_ work: Work, keybag: Keybag) throws(SodiumError) {
    self.work = work
    vault = keybag.vault
    party = SecurityKey.party(vault: keybag.vault)
    challenge = SecurityKey.salt(vault: keybag.vault)
    credentials = keybag.securityKeys.map(\.credential)
    pin = try SecureBytes(count: 0)
  }

  /// Whether the bytes can be the PIN of a key.
  public static func isPIN(_ pin: borrowing SecureBytes) -> Bool {
    guard (1...pinLimit).contains(pin.count) else { return false }
    return !pin.bytes.contains(0)
  }

  /// Sets the PIN.
  public mutating func setPIN(_ typed: borrowing SecureBytes) throws(SodiumError) {
    var pin = try SecureBytes(count: typed.count + 1)
    pin.write(typed.bytes, at: 0)
    self.pin = pin
  }

  borrowing func encoded() throws(SodiumError) -> SecureBytes {
    var head = ByteWriter()
    head.number(SecurityKeyQuestion.version)
    head.number(work.rawValue)
    head.text(party)
    head.short(challenge)
    head.short(vault)
    head.number(UInt8(credentials.count))
    for one in credentials { head.short(one) }
    return try Framed.bytes(head.bytes, pin.bytes)
  }

  /// Reads a question; nil if the memory has no valid question.
  public init?(taking memory: inout SharedMemory) {
    guard let content = try? memory.take(), let head = Framed.head(of: content) else { return nil }
    var input = ByteReader(head)
    guard (try? input.number(UInt8.self)) == SecurityKeyQuestion.version,
      let work = (try? input.number(UInt8.self)).flatMap(Work.init), let party = try? input.text(),
      let challenge = try? input.short(), challenge.count == 32, let vault = try? input.short(), vault.count == 16,
      let count = try? input.number(UInt8.self), let pin = Framed.secret(of: content)
    else { return nil }
    var credentials: [[UInt8]] = []
    for _ in 0..<count {
      guard let one = try? input.short() else { return nil }
      credentials.append(one)
    }
    (self.work, self.party, self.challenge, self.vault) = (work, party, challenge, vault)
    self.credentials = credentials
    self.pin = pin
  }
}

/// Public bytes and then a secret. The length of each comes before it, in 16 bits.
enum Framed {
  static func bytes(_ head: [UInt8], _ secret: RawSpan) throws(SodiumError) -> SecureBytes {
    var out = try SecureBytes(count: 4 + head.count + secret.byteCount)
    func size(_ count: Int) -> [UInt8] { [UInt8(count & 0xFF), UInt8(count >> 8 & 0xFF)] }
    out.write(size(head.count).span.bytes, at: 0)
    out.write(head.span.bytes, at: 2)
    out.write(size(secret.byteCount).span.bytes, at: 2 + head.count)
    out.write(secret, at: 4 + head.count)
    return out
  }

  /// The public bytes; nil if they are cut off.
  static func head(of content: borrowing SecureBytes) -> [UInt8]? {
    guard let range = range(at: 0, of: content) else { return nil }
    return content.bytes.extracting(range).octets
  }

  /// The secret bytes; nil if they are cut off.
  static func secret(of content: borrowing SecureBytes) -> SecureBytes? {
    guard let head = range(at: 0, of: content), let range = range(at: head.upperBound, of: content) else { return nil }
    return try? SecureBytes(copying: content.bytes.extracting(range))
  }

  private static func range(at offset: Int, of content: borrowing SecureBytes) -> Range<Int>? {
    guard offset + 2 <= content.count else { return nil }
    let bytes = content.bytes
    let length = Int(UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self)))
    guard offset + 2 + length <= content.count else { return nil }
    return (offset + 2)..<(offset + 2 + length)
  }
}
