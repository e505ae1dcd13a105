/// A value of JSON (RFC 8259). Not for secrets, which never become a `String`.
public indirect enum JSONValue: Equatable, Sendable {
  case null
  case bool(Bool)
  /// A number in its written form.
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  /// The value as text, with the keys of each object sorted. It has no control character, so it cannot control a terminal.
  ///
  /// - Parameter isPretty: whether each value has a line of its own.
  public func text(isPretty: Bool) -> String {
    var text = ""
    write(to: &text, isPretty ? "\n" : nil)
    return text
  }

  /// - Parameter start: the line end and the spaces before this value's line; nil for a text of one line.
  private func write(to text: inout String, _ start: String?) {
    switch self {
    case .null: text += "null"
    case .bool(let value): text += value ? "true" : "false"
    case .number(let value): text += value
    case .string(let value): Self.write(value, to: &text)
    case .array(let values):
      Self.writeList(values, "[", "]", to: &text, start) { value, text, start in value.write(to: &text, start) }
    case .object(let values):
      let sorted = values.sorted { $0.key < $1.key }
      Self.writeList(sorted, "{", "}", to: &text, start) { entry, text, start in
        Self.write(entry.key, to: &text)
        text += start == nil ? ":" : " : "
        entry.value.write(to: &text, start)
      }
    }
  }

  private static func writeList<Element>(
    _ elements: [Element], _ opening: String, _ closing: String, to text: inout String, _ start: String?,
    _ write: (Element, inout String, String?) -> Void
  ) {
    text += opening
    let inner = start.map { $0 + "  " }
    for (index, element) in elements.enumerated() {
      if index > 0 { text += "," }
      text += inner ?? ""
      write(element, &text, inner)
    }
    if !elements.isEmpty { text += start ?? "" }
    text += closing
  }

  private static func write(_ string: String, to text: inout String) {
    text += "\""
    for scalar in string.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\u{8}": text += "\\b"
      case "\u{c}": text += "\\f"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\0"..<" ", "\u{7f}"..."\u{9f}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    text += "\""
  }
}
