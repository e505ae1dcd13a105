import LatchkeySecretClient
import LatchkeySodium

/// The key of one-time passwords, in the forms of the KeePass family. It becomes an otpauth URI, which other programs read.
enum KeePassOneTimePassword {
  /// A key URI, and the fields that it was made from.
  struct Found {
    let uri: Secret
    let fields: Set<String>
  }

  /// The values of an entry's fields, by their names.
  typealias Values = [String: Secret]

  private struct Settings {
    /// The key, in Base32 without padding.
    let key: Secret
    var kind = "totp"
    var digits: UInt64 = 6
    var period: UInt64 = 30
    var counter: UInt64?
    var algorithm = "SHA1"
    var encoder: String?
    let fields: Set<String>
  }

  /// Reads the fields of an entry.
  ///
  /// - Returns: nil if there is no key, or if this program does not understand it.
  static func read(_ values: Values, issuer: String, user: String) throws(ForeignFileError) -> Found? {
    guard let settings = try settings(values) else { return nil }
    return Found(uri: try uri(settings, issuer: issuer, user: user), fields: settings.fields)
  }

  private static func settings(_ values: Values) throws(ForeignFileError) -> Settings? {
    // A field for the whole URI counts before others.
    guard values["otp"] == nil else { return try query(values) }
    if let settings = try native(values) { return settings }
    if let settings = try counted(values) { return settings }
    return try separate(values)
  }

  /// Whether a field has a key of one-time passwords.
  static func isKey(_ name: String) -> Bool {
    name.hasPrefix("TimeOtp-Secret") || name.hasPrefix("HmacOtp-Secret") || name == seedName
  }

  /// Whether a field belongs to the settings of one-time passwords.
  static func isSetting(_ name: String) -> Bool {
    name.hasPrefix("TimeOtp-") || name.hasPrefix("HmacOtp-") || name == seedName || name == settingsName
  }

  private static let (seedName, settingsName) = ("TOTP Seed", "TOTP Settings")

  // MARK: - the forms

  /// KeePass 2.47 and later: TimeOtp-Secret-Base32 and more.
  private static func native(_ values: Values) throws(ForeignFileError) -> Settings? {
    guard let (key, name) = try key(values, prefix: "TimeOtp-") else { return nil }
    var settings = Settings(
      key: key,
      fields: Set([name, "TimeOtp-Length", "TimeOtp-Period", "TimeOtp-Algorithm"].filter { values[$0] != nil }))
    if let length = values["TimeOtp-Length"] {
      guard let number = number(length, 1...10) else { return nil }
      settings.digits = number
    }
    if let period = values["TimeOtp-Period"] {
      guard let number = number(period, 1...86400) else { return nil }
      settings.period = number
    }
    if let algorithm = values["TimeOtp-Algorithm"] {
      guard let name = self.algorithm(word(algorithm)) else { return nil }
      settings.algorithm = name
    }
    return settings
  }

  /// The settings with a counter: HmacOtp-Secret-Base32 and HmacOtp-Counter.
  private static func counted(_ values: Values) throws(ForeignFileError) -> Settings? {
    guard let (key, name) = try key(values, prefix: "HmacOtp-"), let counter = values["HmacOtp-Counter"],
      let number = number(counter, 0...UInt64(Int64.max))
    else { return nil }
    return Settings(key: key, kind: "hotp", counter: number, fields: [name, "HmacOtp-Counter"])
  }

  /// KeeTrayTOTP, and KeePassXC before 2.4: the seed, and settings such as 30;6 or 30;S.
  private static func separate(_ values: Values) throws(ForeignFileError) -> Settings? {
    guard let seed = values[seedName], let key = try base32(seed), let text = values[settingsName].flatMap(word) else {
      return nil
    }
    let parts = text.split(separator: ";", omittingEmptySubsequences: false)
    guard parts.count == 2, let period = UInt64(parts[0]), (1...86400).contains(period) else { return nil }
    var settings = Settings(key: key, period: period, fields: [seedName, settingsName])
    if parts[1] == "S" {
      (settings.digits, settings.encoder) = (5, "steam")
    } else {
      guard let digits = UInt64(parts[1]), (1...10).contains(digits) else { return nil }
      settings.digits = digits
    }
    return settings
  }

  /// KeeOtp: key=…&size=6&step=30, in the field in which KeePassXC keeps the URI.
  private static func query(_ values: Values) throws(ForeignFileError) -> Settings? {
    guard let text = values["otp"], let parts = try parameters(text), let written = parts["key"],
      let key = try base32(written), parts["encoding"].map(word).map({ $0?.uppercased() == "BASE32" }) ?? true,
      parts["type"].map(word).map({ $0?.uppercased() == "TOTP" }) ?? true
    else { return nil }
    var settings = Settings(key: key, fields: ["otp"])
    if let size = parts["size"] {
      guard let number = number(size, 1...10) else { return nil }
      settings.digits = number
    }
    if let step = parts["step"] {
      guard let number = number(step, 1...86400) else { return nil }
      settings.period = number
    }
    if let mode = parts["otpHashMode"] {
      guard let name = algorithm(word(mode)) else { return nil }
      settings.algorithm = name
    }
    return settings
  }

  // MARK: - keys

  /// The key in one of four encodings, and the name of its field. Nil also if there are several, because this program cannot know
  /// which key counts.
  private static func key(_ values: Values, prefix: String) throws(ForeignFileError) -> (Secret, String)? {
    let names = ["Secret", "Secret-Hex", "Secret-Base32", "Secret-Base64"].map { prefix + $0 }
    let present = names.filter { values[$0] != nil }
    guard present.count == 1, let name = present.first, let value = values[name] else { return nil }
    let key: Secret?
    switch name {
    case names[0]: key = try encoded(value)
    case names[1]:
      key = try decoded(value) { text throws(ForeignFileError) in try text.decodedHexadecimal(0..<text.count) }
    case names[2]: key = try base32(value)
    default:
      key = try decoded(value) { text throws(ForeignFileError) in
        do {
          if let octets = try Base64.decode(secret: text.bytes) { return octets }
        } catch { throw .noMemory }
        throw .damaged
      }
    }
    return key.map { ($0, name) }
  }

  private static func decoded(
    _ value: Secret, _ decode: (borrowing SecureBytes) throws(ForeignFileError) -> SecureBytes
  ) throws(ForeignFileError) -> Secret? {
    do throws(ForeignFileError) { return try encoded(Secret(try decode(try copy(of: value)))) } catch .damaged {
      return nil
    } catch {
      throw error
    }
  }

  private static func copy(of value: Secret) throws(ForeignFileError) -> SecureBytes {
    do { return try value.withBytes { try SecureBytes(copying: $0) } } catch { throw .noMemory }
  }

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".utf8)

  /// Bytes in Base32.
  private static func encoded(_ octets: Secret) throws(ForeignFileError) -> Secret? {
    guard octets.count > 0 else { return nil }
    let bytes = try copy(of: octets)
    var writer = try SecretWriter(capacity: (bytes.count * 8 + 4) / 5)
    var (bits, count): (UInt32, UInt32) = (0, 0)
    for at in 0..<bytes.count {
      (bits, count) = ((bits << 8 | UInt32(bytes.octet(at))) & 0xffff, count + 8)
      while count >= 5 {
        count -= 5
        writer.append(octet: alphabet[Int(bits >> count & 31)])
      }
    }
    if count > 0 { writer.append(octet: alphabet[Int(bits << (5 - count) & 31)]) }
    return Secret(try writer.finish())
  }

  /// A key that is written in Base32, without blanks and dashes; nil if it has other characters.
  private static func base32(_ text: Secret) throws(ForeignFileError) -> Secret? {
    let bytes = try copy(of: text)
    var writer = try SecretWriter(capacity: bytes.count)
    for at in 0..<bytes.count {
      let octet = bytes.octet(at)
      switch octet {
      case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "="), UInt8(ascii: "\n"), UInt8(ascii: "\r"): continue
      case 0x61...0x7a: writer.append(octet: octet & 0xdf)
      case 0x41...0x5a, 0x32...0x37: writer.append(octet: octet)
      default: return nil
      }
    }
    let key = try writer.finish()
    return key.count > 0 ? Secret(key) : nil
  }

  // MARK: - settings

  /// A setting, which is not secret.
  private static func word(_ value: Secret) -> String? {
    guard value.count <= 64 else { return nil }
    return value.withBytes { $0.validText }
  }

  private static func number(_ value: Secret, _ range: ClosedRange<UInt64>) -> UInt64? {
    guard let number = word(value).flatMap({ UInt64($0) }), range.contains(number) else { return nil }
    return number
  }

  /// The name of an algorithm in a URI.
  private static func algorithm(_ name: String?) -> String? {
    switch name?.uppercased().split(separator: "-").joined() {
    case "HMACSHA1", "SHA1": "SHA1"
    case "HMACSHA256", "SHA256": "SHA256"
    case "HMACSHA512", "SHA512": "SHA512"
    default: nil
    }
  }

  /// The names and values of a query; nil if the text is no query.
  private static func parameters(_ text: Secret) throws(ForeignFileError) -> Values? {
    let bytes = try copy(of: text)
    var found: Values = [:]
    var start = 0
    while start < bytes.count {
      let end = bytes.index(of: UInt8(ascii: "&"), in: start..<bytes.count) ?? bytes.count
      guard let equals = bytes.index(of: UInt8(ascii: "="), in: start..<end), let name = bytes.text(start..<equals),
        name.utf8.count <= 16, found.count < 16
      else { return nil }
      found[name] = Secret(try bytes.part((equals + 1)..<end))
      start = end + 1
    }
    return found
  }

  private static func uri(_ settings: Settings, issuer: String, user: String) throws(ForeignFileError) -> Secret {
    let issuer = escaped(issuer)
    let label = user.isEmpty ? issuer : "\(issuer):\(escaped(user))"
    var rest = settings.counter.map { "&counter=\($0)" } ?? "&period=\(settings.period)"
    rest += "&digits=\(settings.digits)&issuer=\(issuer)"
    if settings.algorithm != "SHA1" { rest += "&algorithm=\(settings.algorithm)" }
    if let encoder = settings.encoder { rest += "&encoder=\(encoder)" }
    do {
      var text = try SecretText(capacity: 512)
      try text.append("otpauth://\(settings.kind)/\(label)?secret=")
      try settings.key.withBytes { try text.append($0) }
      try text.append(rest)
      return Secret(try text.finish())
    } catch { throw .noMemory }
  }

  /// The text as a part of a URI.
  private static func escaped(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var octets: [UInt8] = []
    for octet in text.utf8 {
      switch octet {
      case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, 0x2d, 0x2e, 0x5f, 0x7e: octets.append(octet)
      default: octets += [UInt8(ascii: "%"), digits[Int(octet >> 4)], digits[Int(octet & 15)]]
      }
    }
    return String(decoding: octets, as: UTF8.self)
  }
}
