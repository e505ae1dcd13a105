import CLatchkeySodium

/// Base64 (RFC 4648 section 4, with padding), for values that other programs expect as text.
public enum Base64 {
  /// The bytes as text. Not for secrets.
  public static func encode(_ bytes: [UInt8]) -> String {
    // This includes the NUL that libsodium adds.
    var text = [CChar](repeating: 0, count: (bytes.count + 2) / 3 * 4 + 1)
    sodium_bin2base64(&text, text.count, bytes, bytes.count, sodium_base64_VARIANT_ORIGINAL)
    return String(decoding: text.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// A secret as text, which is a secret as well.
  public static func encode(secret: RawSpan) throws(SodiumError) -> SecureBytes {
    let length = (secret.byteCount + 2) / 3 * 4
    // This includes the NUL that libsodium adds.
    var text = try SecureBytes(count: length + 1)
    text.withMutableOctets { out, count in
      out.withMemoryRebound(to: CChar.self, capacity: count) { out in
        secret.withOctets { input, size in
          _ = sodium_bin2base64(out, count, input, size, sodium_base64_VARIANT_ORIGINAL)
        }
      }
    }
    return try text.prefix(length)
  }

  /// Decodes a secret text; nil if any part is not Base64.
  public static func decode(secret: RawSpan) throws(SodiumError) -> SecureBytes? {
    var bytes = try SecureBytes(count: secret.byteCount / 4 * 3 + 3)
    var count = 0
    var isRight = false
    bytes.withMutableOctets { out, size in
      secret.withOctets { input, length in
        input.withMemoryRebound(to: CChar.self, capacity: length) { input in
          isRight =
            sodium_base642bin(out, size, input, length, nil, &count, nil, sodium_base64_VARIANT_ORIGINAL) == 0
        }
      }
    }
    return isRight ? try bytes.prefix(count) : nil
  }

  /// The text's bytes; nil if any part is not Base64.
  public static func decode(_ text: some StringProtocol) -> [UInt8]? {
    let characters = text.utf8.map { CChar(bitPattern: $0) }
    var bytes = [UInt8](repeating: 0, count: characters.count / 4 * 3 + 3)
    var count = 0
    let status = sodium_base642bin(
      &bytes, bytes.count, characters, characters.count, nil, &count, nil, sodium_base64_VARIANT_ORIGINAL)
    guard status == 0 else { return nil }
    bytes.removeLast(bytes.count - count)
    return bytes
  }
}
