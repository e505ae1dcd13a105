/// The text of a settings file with sections, such as the files of KDE, Qt, GLib and systemd. Every line that is not changed stays
/// as it is, byte for byte.
package struct SettingsText {
  private var lines: [String]

  package init(_ text: String) {
    lines = text.utf8.split(separator: 10, omittingEmptySubsequences: false).map { String($0) ?? "" }
  }

  package var text: String { lines.joined(separator: "\n") }

  /// The value of a key. If the key occurs several times, the last value counts.
  package func value(_ key: String, in section: String) -> String? {
    places(of: key, in: section).last.map { Self.entry(lines[$0])?.value ?? "" }
  }

  /// All values of a key, in their order.
  package func values(_ key: String, in section: String) -> [String] {
    places(of: key, in: section).compactMap { Self.entry(lines[$0])?.value }
  }

  /// Whether KDE's mark `[$i]` keeps a key from being changed: on the key, its section or the whole file.
  package func isImmutable(_ key: String, in section: String) -> Bool {
    var isInside = false
    for line in lines {
      let text = Self.trimmed(line)
      if text == "[$i]" { return true }
      if text.hasPrefix("[") {
        isInside = text == "[\(section)]" || text == "[\(section)][$i]"
        if text == "[\(section)][$i]" { return true }
      } else if isInside, text.hasPrefix("\(key)[$i]") {
        return true
      }
    }
    return false
  }

  /// Sets a key's value. Adds a missing section.
  package mutating func set(_ key: String, in section: String, to value: String) {
    let places = places(of: key, in: section)
    guard places.isEmpty else {
      for place in places { lines[place] = "\(key)=\(value)" }
      return
    }
    if let header = lines.firstIndex(where: { Self.header($0) == section }) {
      lines.insert("\(key)=\(value)", at: header + 1)
      return
    }
    if lines.last?.isEmpty == true { lines.removeLast() }
    if !lines.isEmpty { lines.append("") }
    lines += ["[\(section)]", "\(key)=\(value)", ""]
  }

  /// Removes a key, and with a section's last key the section.
  package mutating func remove(_ key: String, in section: String) {
    for place in places(of: key, in: section).reversed() { lines.remove(at: place) }
    guard let header = lines.firstIndex(where: { Self.header($0) == section }) else { return }
    let end = lines[(header + 1)...].firstIndex { Self.header($0) != nil } ?? lines.endIndex
    guard lines[(header + 1)..<end].allSatisfy({ Self.trimmed($0).isEmpty }) else { return }
    let isLast = end == lines.endIndex
    lines.removeSubrange(header..<end)
    // A file that ended with a line end still does.
    if isLast, lines.last?.isEmpty == false { lines.append("") }
  }

  private func places(of key: String, in section: String) -> [Int] {
    var found: [Int] = []
    var isInside = false
    for (place, line) in lines.enumerated() {
      if let header = Self.header(line) {
        isInside = header == section
      } else if isInside, Self.entry(line)?.key == key {
        found.append(place)
      }
    }
    return found
  }

  private static func header(_ line: String) -> String? {
    let text = trimmed(line)
    return text.hasPrefix("[") && text.hasSuffix("]") ? String(text.dropFirst().dropLast()) : nil
  }

  private static func entry(_ line: String) -> (key: String, value: String)? {
    guard let equals = line.firstIndex(of: "="), !trimmed(line).hasPrefix("#") else { return nil }
    return (trimmed(line[..<equals]), trimmed(line[line.index(after: equals)...]))
  }

  private static func trimmed(_ text: some StringProtocol) -> String {
    var scalars = text.unicodeScalars[...]
    while let first = scalars.first, first.properties.isWhitespace { scalars.removeFirst() }
    while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
    return String(String.UnicodeScalarView(scalars))
  }
}
