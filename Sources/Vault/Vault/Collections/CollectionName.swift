/// The last part of a collection's object path.
///
/// Programs look for a collection by a path that they make of its label. So the name is made of the label that the collection
/// had first, in the way of gnome-keyring, and stays for the collection's life. While labels cannot be opened, a number is the
/// name. The number leads to the collection for ever.
public enum CollectionName {
  /// The name of the collection that every vault begins with.
  public static let first = "login"
  /// The name of the collection that lives in memory.
  static let session = "session"
  /// The longest part of a label in a name, in bytes.
  private static let limit = 200
  /// The longest name, in bytes.
  private static let longest = 255

  /// The name made of a number.
  public static func ofNumber(_ id: Int64) -> String { id == Vault.firstCollection ? first : "c\(id)" }

  /// The number in such a name; nil for another kind of name. Each number has one spelling.
  public static func number(of name: String) -> Int64? {
    if name == first { return Vault.firstCollection }
    // Cut by bytes, because a combining mark would be one character with its letter.
    guard name.utf8.first == UInt8(ascii: "c"), let number = Int64(Substring(name.utf8.dropFirst())), number > 0,
      ofNumber(number).utf8.elementsEqual(name.utf8)
    else { return nil }
    return number
  }

  /// Whether the name can be part of an object path.
  public static func isPossible(_ name: some StringProtocol) -> Bool {
    (1...longest).contains(name.utf8.count) && name.utf8.allSatisfy { isPlain($0) || $0 == UInt8(ascii: "_") }
  }

  /// Whether a label can become this name: some names have a meaning of their own.
  static func isFree(_ name: String, besides taken: Set<String>) -> Bool {
    isPossible(name) && name != session && number(of: name) == nil && !taken.contains(name)
  }

  /// The name of a new collection with that label: the label, or the label with the first number that makes a new name.
  static func derived(from label: String, besides taken: Set<String>) -> String {
    let identifier = identifier(label)
    var (name, number) = (escaped(identifier), 0)
    while !isFree(name, besides: taken) {
      number += 1
      name = escaped("\(identifier)_\(number)")
    }
    return name
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"):
      true
    default: false
    }
  }

  /// The label without the characters that gnome-keyring does not allow in file names.
  private static func identifier(_ label: String) -> String {
    guard !label.isEmpty else { return "unnamed" }
    var identifier = String.UnicodeScalarView()
    var size = 0
    for scalar in label.unicodeScalars {
      let kept: Unicode.Scalar = ":/\\<>|\t\n\r\u{B} ".unicodeScalars.contains(scalar) ? "_" : scalar
      size += escaped(String(kept)).utf8.count
      guard size <= limit else { break }
      identifier.append(kept)
    }
    return String(identifier)
  }

  /// Letters and digits of ASCII unchanged; each other byte as an underscore and two hexadecimal digits.
  private static func escaped(_ identifier: String) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var bytes: [UInt8] = []
    for byte in identifier.utf8 {
      bytes += isPlain(byte) ? [byte] : [UInt8(ascii: "_"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
