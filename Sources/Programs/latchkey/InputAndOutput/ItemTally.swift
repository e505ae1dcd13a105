import LatchkeyGettext

/// The outcomes of items, in reports of imports and exports.
enum ItemTally {
  /// The sentence with the counts: how many items were found, and how many of each kind.
  static func summary(_ items: Int, _ kinds: [(count: Int, text: String)]) -> String {
    let parts = kinds.filter { $0.count > 0 }.map { "\($0.count) \($0.text)" }.joined(separator: ", ")
    return parts.isEmpty
      ? translated(items, one: "\(items) item found.", other: "\(items) items found.")
      : translated(items, one: "\(items) item found: \(parts).", other: "\(items) items found: \(parts).")
  }

  /// A title and the lines below it; empty without lines.
  static func section(_ title: String, _ lines: [String]) -> [String] { lines.isEmpty ? [] : [title] + lines }
}
