/// A name that equals another name only byte for byte. Swift ignores how accents are composed, but the vault and KDE's programs do
/// not.
struct ExactName: Hashable, Comparable {
  let text: String

  init(_ text: String) { self.text = text }

  static func == (left: ExactName, right: ExactName) -> Bool { left.text.utf8.elementsEqual(right.text.utf8) }

  static func < (left: ExactName, right: ExactName) -> Bool {
    left.text.utf8.lexicographicallyPrecedes(right.text.utf8)
  }

  func hash(into hasher: inout Hasher) {
    for octet in text.utf8 { hasher.combine(octet) }
  }
}
