import ArgumentParser
import LatchkeyClassRules
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyText

/// The attributes of an item, from words of the command line. No message repeats a word, because it may be a secret that somebody
/// typed in the wrong place.
struct ItemAttributes {
  static let className = ClassRule.reservedPrefix + "accessible"
  static let requireName = ClassRule.reservedPrefix + "require"

  private(set) var values: [String: String] = [:]

  /// Reads words of the form name=value.
  ///
  /// - Throws: `ValidationError`.
  init(_ words: [String]) throws {
    for (index, word) in words.enumerated() {
      guard let equals = word.firstIndex(of: "="), equals != word.startIndex else {
        throw ValidationError(
          translated(
            """
            Word \(index + 1) of the attributes is not of the form name=value, for example 'latchkey find service=mail'. (It is \
            not repeated here, because it may be a secret.)
            """
          )
        )
      }
      let name = String(word[..<equals])
      try Self.check(name)
      guard values.updateValue(String(word[word.index(after: equals)...]), forKey: name) == nil else {
        throw ValidationError(translated("The attribute '\(name)' is given twice."))
      }
    }
  }

  /// Refuses names that a person cannot choose for an item.
  static func check(_ name: String) throws {
    guard !name.hasPrefix(ClassRule.reservedPrefix) else {
      throw ValidationError(
        translated(
          "Attributes do not begin with \(ClassRule.reservedPrefix); use --class for a class, and --require for what an item requires."
        )
      )
    }
  }

  /// An attribute as it is given on the command line, in the words of a shell.
  static func word(_ name: String, _ value: String) -> String {
    let word = "\(name)=\(value)"
    let isPlain = word.utf8.allSatisfy { byte in
      (0x30...0x39).contains(byte) || (0x40...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
        || byte >= 0x80 || "=_-.,:/+%".utf8.contains(byte)
    }
    return isPlain ? word : "'" + word.replacing(text: "'", with: "'\\''") + "'"
  }
}

/// The class of an item on the command line.
extension AccessibilityClass {
  static var help: String {
    let names = AccessibilityClass.allCases.map(\.name).joined(separator: ", ")
    return translated("When the secret may be read: \(names).")
  }
  static let completion = CompletionKind.list(AccessibilityClass.allCases.map(\.name))

  /// The class that an option names.
  ///
  /// - Throws: `ValidationError`.
  static func option(_ name: String?) throws -> AccessibilityClass? {
    guard let name else { return nil }
    guard let known = AccessibilityClass(name: name) else {
      let names = AccessibilityClass.allCases.map(\.name).joined(separator: ", ")
      throw ValidationError(translated("That class does not exist. The classes are \(names)."))
    }
    return known
  }
}

/// An item's requirements, on the command line.
extension AccessControl {
  static let help = translated(
    """
    Words with commas between them: user-presence, device-passcode, biometry-any, biometry-current-set, application-password \
    (a passphrase of its own), and 'or' if one condition is enough.
    """)

  /// The requirements that an option names; "none" for no requirements.
  ///
  /// - Throws: `ValidationError`.
  static func option(_ text: String?) throws -> AccessControl? {
    guard let text else { return nil }
    do { return try AccessControl(text: text == "none" ? "" : text) } catch {
      throw ValidationError(translated("--require: \(error.reason.told)."))
    }
  }
}
