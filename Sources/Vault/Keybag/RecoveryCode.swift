import LatchkeyBytes
import LatchkeySodium
import LatchkeyText

/// A recovery code: 128 random bits, written down as seven groups of five characters.
///
///     3F7KQ-0ZM4D-…      digits and capital letters without I, L, O and U (Crockford's base 32)
///
/// The last character of each group is a check sum of the others and of the group's place: it finds every single mistake and every
/// exchange of two neighbours, and says in which group. 12 more bits check the code as a whole.
public struct RecoveryCode: ~Copyable {
  /// A mistake in the typed code.
  public enum Mistake: Error, Equatable, Sendable {
    /// There are too few characters or too many. The value is their number.
    case length(Int)
    /// This group (1...7) has a character that no code has.
    case character(group: Int)
    /// This group (1...7) has a typing mistake.
    case group(Int)
    /// Each group alone looks right, but the code as a whole is wrong.
    case whole
    /// There was no memory for the secret.
    case outOfMemory
  }

  /// The number of groups in a code.
  public static let groupCount = 7
  /// The number of characters in a group.
  public static let groupSize = 5
  private static let secretSize = 16

  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

  private let secret: SecureBytes

  private init(secret: consuming SecureBytes) {
    self.secret = secret
  }

  /// A new code.
  public static func random() throws(SodiumError) -> RecoveryCode {
    RecoveryCode(secret: try .random(count: secretSize))
  }

  /// The key made of the code and a protector's salt.
  func key(salt: [UInt8]) throws(SodiumError) -> Key { try RecoveryCode.key(secret, salt) }

  private static func key(_ secret: borrowing SecureBytes, _ salt: [UInt8]) throws(SodiumError) -> Key {
    var bytes = try SecureBytes(count: Key.size)
    bytes.write(secret.bytes, at: 0)
    bytes.write(salt.span.bytes.extracting(first: Key.size - secretSize), at: secretSize)
    return try Key(bytes)
  }

  /// The bits that check the code as a whole, in the upper bits of two bytes.
  private static func check(_ secret: borrowing SecureBytes) throws(SodiumError) -> [UInt8] {
    let key = try key(secret, [UInt8](repeating: 0, count: secretSize))
    let tag = try key.tag(.recoveryCheck, length: 16)
    return [tag[0], tag[1] & 0xF0]
  }

  // MARK: - text

  /// The product in the field of 32 elements, with the polynomial x^5 + x^2 + 1.
  private static func times(_ left: UInt8, _ right: UInt8) -> UInt8 {
    var (left, right, product) = (left, right, UInt8(0))
    while right > 0 {
      if right & 1 == 1 { product ^= left }
      left = left & 0x10 == 0 ? left << 1 : (left << 1 & 0x1F) ^ 0x05
      right >>= 1
    }
    return product
  }

  /// The part of the character at `place` in its group's check sum: each place has its own weight.
  private static func weighed(_ value: UInt8, at place: Int) -> UInt8 {
    times(value, 2 << UInt8(place))
  }

  /// The first value of a group's check sum, which also detects exchanged groups.
  private static func seed(ofGroup group: Int) -> UInt8 { UInt8(group + 1) }

  /// The code for paper, in capital letters with a hyphen between groups, without an end of line.
  public func text() throws(SodiumError) -> SecureBytes {
    var text = try SecureBytes(count: RecoveryCode.groupCount * (RecoveryCode.groupSize + 1) - 1)
    RecoveryCode.write(try packed(), to: &text)
    return text
  }

  /// The bits that are written down: the secret and its check.
  private func packed() throws(SodiumError) -> SecureBytes {
    let check = try RecoveryCode.check(secret)
    var packed = try SecureBytes(count: RecoveryCode.secretSize + 2)
    packed.write(secret.bytes, at: 0)
    packed.write(check.span.bytes, at: RecoveryCode.secretSize)
    return packed
  }

  private static func write(_ packed: borrowing SecureBytes, to text: inout SecureBytes) {
    for group in 0..<groupCount {
      let start = group * (groupSize + 1)
      if group > 0 { text[start - 1] = UInt8(ascii: "-") }
      var sum = seed(ofGroup: group)
      for place in 0..<(groupSize - 1) {
        let value = fiveBits(of: packed.bytes, at: 5 * (group * (groupSize - 1) + place))
        sum ^= weighed(value, at: place)
        text[start + place] = alphabet[Int(value)]
      }
      text[start + groupSize - 1] = alphabet[Int(sum)]
    }
  }

  /// Sets the bits of `value`, the highest first, in bytes that are zero at this place.
  private static func put(fiveBits value: UInt8, at position: Int, of bytes: inout SecureBytes) {
    for bit in 0..<5 where value >> (4 - UInt8(bit)) & 1 == 1 {
      bytes[(position + bit) / 8] |= 0x80 >> UInt8((position + bit) % 8)
    }
  }

  private static func fiveBits(of bytes: RawSpan, at position: Int) -> UInt8 {
    var value: UInt8 = 0
    for bit in position..<(position + 5) {
      let byte = bytes.unsafeLoad(fromByteOffset: bit / 8, as: UInt8.self)
      value = value << 1 | (byte >> (7 - UInt8(bit % 8)) & 1)
    }
    return value
  }

  /// Reads what a person typed: in capital or small letters, with or without hyphens and spaces, O for 0, I and L for 1.
  public init(typed: RawSpan) throws(Mistake) {
    self.init(secret: try RecoveryCode.secret(of: typed))
  }

  private static func secret(of typed: RawSpan) throws(Mistake) -> SecureBytes {
    do {
      var packed = try SecureBytes(count: secretSize + 2)
      try read(typed, into: &packed)
      let secret = try SecureBytes(copying: packed.bytes.extracting(first: secretSize))
      let check = packed.bytes.extracting(droppingFirst: secretSize).octets
      guard try check == RecoveryCode.check(secret) else { throw Mistake.whole }
      return secret
    } catch let mistake as Mistake { throw mistake } catch { throw .outOfMemory }
  }

  /// The bits of the typed code, if each of its groups is right.
  private static func read(_ typed: RawSpan, into packed: inout SecureBytes) throws(Mistake) {
    var count = 0
    var wrong: Mistake?
    var sum: UInt8 = 0
    for offset in 0..<typed.byteCount {
      let byte = typed.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      // The further bytes of a character that is not ASCII do not count as characters.
      if byte == UInt8(ascii: "-") || byte == UInt8(ascii: " ") || byte == 9 || byte & 0xC0 == 0x80 { continue }
      defer { count += 1 }
      let (group, place) = (count / groupSize, count % groupSize)
      guard group < groupCount, wrong == nil else { continue }
      guard let value = value(of: byte) else {
        wrong = .character(group: group + 1)
        continue
      }
      if place == 0 { sum = seed(ofGroup: group) }
      if place < groupSize - 1 {
        sum ^= weighed(value, at: place)
        put(fiveBits: value, at: 5 * (group * (groupSize - 1) + place), of: &packed)
      } else if sum != value {
        wrong = .group(group + 1)
      }
    }
    // If a character is missing or too many, the groups behind it cannot be checked.
    if case .character = wrong { throw wrong ?? .whole }
    guard count == groupCount * groupSize else { throw .length(count) }
    if let wrong { throw wrong }
  }

  private static func value(of byte: UInt8) -> UInt8? {
    let upper = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte - 32 : byte
    switch upper {
    case UInt8(ascii: "O"): return 0
    case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
    default: return alphabet.firstIndex(of: upper).map { UInt8($0) }
    }
  }
}

extension RecoveryCode.Mistake {
  /// The place to look at again, for a person.
  package var phrase: Phrase {
    switch self {
    case .length(let count):
      Phrase(
        """
        a code has \(RecoveryCode.groupCount * RecoveryCode.groupSize) characters besides the hyphens, but this one \
        has \(count)
        """)
    case .character(let group): Phrase("group \(group) has a character that no code has")
    case .group(let group): Phrase("there is a typing mistake in group \(group)")
    case .whole: Phrase("there is a typing mistake in more than one place")
    case .outOfMemory: Phrase("there is not enough memory")
    }
  }
}
