import LatchkeyGcrypt
import LatchkeySodium

/// Our side of `sx-aes-1`, by which the system prompter hands over the typed text: a Diffie-Hellman agreement, and then
/// AES-128-CBC, in texts that have the form of a key file. It hides the secret from programs that read the bus, but does not
/// authenticate the other side.
final class SecretExchange {
  /// The text does not have the form that a prompter sends.
  struct Malformed: Error {}

  private static let group = "[sx-aes-1]"
  /// The longest ciphertext that is accepted. PAM accepts only 512 bytes.
  private static let secretLimit = 4096

  private let cipher: SessionCipher
  /// The text for the other side: our public key.
  let text: String

  /// Answers the prompter, which sends the first text.
  init(answering text: String) throws {
    guard let peer = SecretExchange.value("public", in: text) else { throw Malformed() }
    let (key, cipher) = try KeyAgreement.respond(to: peer.span.bytes, group: .systemPrompter)
    self.cipher = cipher
    self.text = "\(SecretExchange.group)\npublic=\(Base64.encode(key))\n"
  }

  /// The secret that a text of the prompter carries.
  func secret(in text: String) throws -> SecureBytes {
    guard let iv = SecretExchange.value("iv", in: text), let sealed = SecretExchange.value("secret", in: text),
      sealed.count <= SecretExchange.secretLimit
    else { throw Malformed() }
    var opened = try SecureBytes(count: sealed.count)
    let count = try cipher.decrypt(sealed.span.bytes, iv: iv.span.bytes, into: opened.mutableBytes)
    return try opened.prefix(count)
  }

  /// The bytes of one value in our group of the key file.
  private static func value(_ name: String, in text: String) -> [UInt8]? {
    var isOurs = false
    for line in text.split(whereSeparator: \.isNewline) {
      let line = trim(line)
      if line.first == "[" {
        isOurs = line == group
      } else if isOurs, let equals = line.firstIndex(of: "="), trim(line[..<equals]) == name {
        return Base64.decode(trim(line[line.index(after: equals)...]))
      }
    }
    return nil
  }

  private static func trim(_ text: Substring) -> Substring {
    let isBlank = { (character: Character) in character == " " || character == "\t" || character == "\r" }
    let start = text.drop(while: isBlank)
    guard let last = start.lastIndex(where: { !isBlank($0) }) else { return "" }
    return start[...last]
  }
}
