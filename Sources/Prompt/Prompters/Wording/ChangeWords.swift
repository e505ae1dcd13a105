import LatchkeyGettext
import LatchkeyText

/// The change of an item, in the person's language. The daemon sends English words that follow the item's name. So equal prompts
/// are equal in every language. Unknown words stay English.
enum ChangeWords {
  static func clauses(_ words: String) -> String {
    words.split(text: ", to ").enumerated()
      .map { number, part in clause(number == 0 && part.hasPrefix("to ") ? part.dropFirst(3) : part) }
      .joined(separator: ", ")
  }

  private static func clause(_ part: Substring) -> String {
    let fingers = ", with the fingers that are enrolled now"
    switch part {
    case "stay as it is": return translated("to stay as it is")
    case "get another passphrase": return translated("to get another passphrase")
    case "require nothing": return translated("to require nothing")
    case "require nothing, with the fingers that are enrolled now":
      return translated("to require nothing, with the fingers that are enrolled now")
    case _ where part.hasPrefix("require "):
      let condition = part.dropFirst("require ".count)
      guard part.hasSuffix(fingers) else { return translated("to require \(condition)") }
      let bare = condition.dropLast(fingers.count)
      return translated("to require \(bare), with the fingers that are enrolled now")
    case _ where part.hasPrefix("have the class "):
      let name = part.dropFirst("have the class ".count)
      return translated("to have the class \(name)")
    default: return "to \(part)"
    }
  }
}
