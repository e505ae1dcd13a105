import LatchkeyText

/// Addresses in the forms that people and other programs write: several in one text, without a scheme, with capitals and blanks.
enum WebAddress {
  /// The host that a text names first, in small letters and without a port; empty if the text names no host.
  static func server(of text: String) -> String {
    let addresses = addresses(in: text)
    let isAlone = text.split(whereSeparator: isSeparator).count == 1
    for address in addresses {
      if let host = host(of: address, isAlone: isAlone) { return host.lowercased() }
    }
    return ""
  }

  /// The addresses of a text, between blanks, line ends, commas and semicolons. One address can contain such characters too, so
  /// only the first part may lack a scheme.
  static func addresses(in text: String) -> [Substring] {
    let parts = text.split(whereSeparator: isSeparator)
    return parts.enumerated().filter { $0.offset == 0 || scheme(of: $0.element) != nil }.map(\.element)
  }

  private static func isSeparator(_ character: Character) -> Bool {
    character.isWhitespace || character == "," || character == ";"
  }

  /// The place where the scheme ends and the rest begins.
  private static func scheme(of address: Substring) -> Range<Substring.Index>? {
    guard let mark = address.firstRange(ofText: "://"), mark.lowerBound > address.startIndex else { return nil }
    let isName = address[..<mark.lowerBound].utf8.allSatisfy { isWord($0) || [0x2b, 0x2d, 0x2e].contains($0) }
    return isName ? mark : nil
  }

  /// - Parameter isAlone: whether the text has no other part.
  private static func host(of address: Substring, isAlone: Bool) -> Substring? {
    var rest = address
    let scheme = scheme(of: address)
    if let scheme {
      // KeePass runs a text that begins with `cmd://` as a program, so it is no address.
      guard address[..<scheme.lowerBound].lowercased() != "cmd" else { return nil }
      rest = address[scheme.upperBound...]
    } else if rest.hasPrefix("//") {
      rest = rest.dropFirst(2)
    }
    let authority = rest.prefix { !"/?#\\".contains($0) }
    var host = authority
    if let at = host.lastIndex(of: "@") { host = host[host.index(after: at)...] }
    if host.hasPrefix("[") { return host.firstIndex(of: "]").map { host[...$0] } }
    let name = host.prefix { $0 != ":" }
    let port = host[name.endIndex...].dropFirst()
    guard isHost(name), port.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    guard scheme == nil else { return name }
    // "n/a" and "mailto:" are not hosts.
    let isWhole = isAlone && authority.endIndex == address.endIndex && host.endIndex == name.endIndex
    return name.contains(".") || !port.isEmpty || isWhole || name.lowercased() == "localhost" ? name : nil
  }

  private static func isHost(_ name: Substring) -> Bool {
    name.utf8.contains { isWord($0) || $0 >= 0x80 }
      && name.utf8.allSatisfy { isWord($0) || $0 >= 0x80 || [0x2d, 0x2e, 0x5f].contains($0) }
  }

  /// Whether the byte is an ASCII letter or digit.
  private static func isWord(_ octet: UInt8) -> Bool {
    switch octet {
    case 0x30...0x39, 0x41...0x5a, 0x61...0x7a: true
    default: false
    }
  }
}
