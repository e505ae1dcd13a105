import LatchkeyText

/// The parts of gnome-keyring on a command line.
package struct KeyringComponents {
  private static let ofSecrets = ["secrets", "keyring"]

  private let front: Substring
  private let names: [Substring]
  private let rest: Substring

  /// nil if the line names no components, and so starts the usual ones.
  package init?(_ command: String) {
    let options = ["--components=", "--components ", "-c "]
    // The command may begin with a shell that has its own -c.
    let program = command.firstRange(ofText: "gnome-keyring-daemon")?.upperBound ?? command.startIndex
    let starts = options.compactMap { command[program...].firstRange(ofText: $0)?.upperBound }
    guard let start = starts.first else { return nil }
    var list = command[start...]
    // A quote here ends a command for a shell.
    var end: (Character) -> Bool = { " \t;\"'".contains($0) }
    if let quote = list.first, quote == "\"" || quote == "'" {
      list = list.dropFirst()
      end = { $0 == quote }
    }
    names = list.prefix { !end($0) }.split(separator: ",")
    front = command[..<list.startIndex]
    rest = list.drop { !end($0) }
  }

  /// Whether the part that offers secrets is among the components.
  package var haveSecrets: Bool { names.contains { Self.ofSecrets.contains(String($0)) } }

  /// The line without the part for secrets; nil if no part is left.
  package var commandWithoutSecrets: String? {
    let others = names.filter { !Self.ofSecrets.contains(String($0)) }
    return others.isEmpty ? nil : front + others.joined(separator: ",") + rest
  }
}
