import CLatchkeyPAMModule

/// The question to a person: "Passphrase for 'Work', wanted by mail: ".
///
/// Other programs choose the label and the caller's name, which appear on the person's terminal. So both are cut, and no character
/// in them moves the cursor or changes the direction of the text. Nobody can make this question look like another one.
struct PassphrasePrompt {
  /// The longest label or caller, in bytes.
  private static let textLimit = 128
  /// Room for the longest question: our own words and two texts.
  private static let size = 320

  private let start: UnsafeMutableRawPointer
  private var count = 0

  /// Lends the question for the collection `label`, as a C string, to `body`.
  static func withText<Result>(
    label: UnsafePointer<CChar>?, caller: UnsafePointer<CChar>?, _ body: (UnsafePointer<CChar>?) -> Result
  ) -> Result {
    withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { buffer in
      guard let start = buffer.baseAddress else { return body(nil) }
      var question = PassphrasePrompt(start: start)
      question.append("Passphrase")
      if let label, label[0] != 0 {
        question.append(" for '")
        question.append(shown: label)
        question.append("'")
        if let caller, caller[0] != 0 {
          question.append(", wanted by ")
          question.append(shown: caller)
        }
      }
      question.append(": ")
      start.storeBytes(of: 0, toByteOffset: question.count, as: UInt8.self)
      return body(UnsafePointer(start.assumingMemoryBound(to: CChar.self)))
    }
  }

  private init(start: UnsafeMutableRawPointer) { self.start = start }

  private mutating func append(_ literal: Literal) { append(literal.cString, literal.count) }

  private mutating func append(_ bytes: UnsafeRawPointer, _ size: Int) {
    // One byte stays free for the zero at the end of the string.
    guard size < PassphrasePrompt.size &- count else { return }
    memcpy(start + count, bytes, size)
    count = count &+ size
  }

  /// Appends the beginning of a text, with "?" in place of every character that must not be shown.
  private mutating func append(shown string: UnsafePointer<CChar>) {
    let bytes = UnsafeRawPointer(string)
    let length = strnlen(string, PassphrasePrompt.textLimit)
    var position = 0
    while position < length {
      let character = ShownCharacter(bytes + position, room: length &- position)
      // If the cut is in the middle of a character, the whole character is left out.
      if character.isCut && length == PassphrasePrompt.textLimit { return }
      if character.isShown { append(bytes + position, character.size) } else { append("?") }
      position = position &+ character.size
    }
  }
}
