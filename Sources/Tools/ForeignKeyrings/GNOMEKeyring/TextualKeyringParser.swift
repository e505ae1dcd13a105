import LatchkeySodium

/// Reads a textual keyring line by line.
struct TextualKeyringParser {
  private(set) var label = ""
  private(set) var items: [String: TextualKeyring.Item] = [:]
  /// The items in the order of the file.
  private(set) var order: [String] = []
  private var group = Group.other
  /// The item whose secret may continue, and the beginning of the secret.
  private var unfinished: (item: String, start: Int)?

  /// The subject of a group.
  private enum Group {
    case keyring
    case item(String)
    case attribute(item: String, number: String)
    case other
  }

  /// Takes a line, without its end.
  mutating func take(_ line: Range<Int>, of bytes: borrowing SecureBytes) throws(ForeignFileError) {
    if let next = Self.header(line, bytes) {
      endSecret(before: line.lowerBound, of: bytes)
      return try enter(next)
    }
    if unfinished != nil {
      guard Self.isWritersOwn(line, bytes) else { return }
      endSecret(before: line.lowerBound, of: bytes)
    }
    guard let equals = bytes.index(of: UInt8(ascii: "="), in: line) else { return }
    guard let name = bytes.text(line.lowerBound..<equals), name.utf8.count <= 64 else { return }
    // A space before the equals sign shows that a person wrote the line. Such a person may also have put a space behind the sign.
    let isTight = !name.hasSuffix(" ")
    set(name.trimmed, to: (equals + 1)..<line.upperBound, isTight: isTight, bytes)
  }

  /// If a secret may have continued over lines, it ends before this place.
  mutating func endSecret(before end: Int, of bytes: borrowing SecureBytes) {
    guard let (item, start) = unfinished else { return }
    unfinished = nil
    let isCut = end > start && bytes.octet(end - 1) == UInt8(ascii: "\n")
    items[item]?.secret = start..<(isCut ? end - 1 : max(start, end))
  }

  private mutating func enter(_ next: Group) throws(ForeignFileError) {
    group = next
    switch next {
    case .item(let item):
      guard items[item]?.isListed != true else { return }
      try makeRoom(for: item)
      order.append(item)
      items[item, default: .init()].isListed = true
    case .attribute(let item, let number):
      try makeRoom(for: item)
      guard (items[item]?.attributes.count ?? 0) < KeyringFile.attributeLimit else { throw .tooLarge }
      items[item, default: .init()].attributes[number] = (nil, "")
    case .keyring, .other: break
    }
  }

  /// Attributes may come before their item, or without an item.
  private func makeRoom(for item: String) throws(ForeignFileError) {
    guard items[item] != nil || items.count < KeyringFile.itemLimit else { throw .tooLarge }
  }

  private mutating func set(_ name: String, to value: Range<Int>, isTight: Bool, _ bytes: borrowing SecureBytes) {
    switch group {
    case .keyring where name == "display-name": label = bytes.unescaped(value)
    case .item(let item):
      switch name {
      case "display-name": items[item]?.label = bytes.unescaped(value)
      case "item-type": items[item]?.type = UInt32(bytes.unescaped(value).trimmed) ?? 0
      case "ctime": items[item]?.created = UInt64(bytes.unescaped(value).trimmed) ?? 0
      case "mtime": items[item]?.modified = UInt64(bytes.unescaped(value).trimmed) ?? 0
      case "secret", "binary-secret":
        items[item]?.isHexadecimal = name == "binary-secret"
        let isSpaced = !isTight && !value.isEmpty && bytes.octet(value.lowerBound) == UInt8(ascii: " ")
        let start = value.lowerBound + (isSpaced ? 1 : 0)
        items[item]?.secret = start..<value.upperBound
        unfinished = (item, start)
      default: break
      }
    case .attribute(let item, let number):
      switch name {
      case "name": items[item]?.attributes[number]?.name = bytes.unescaped(value)
      case "value": items[item]?.attributes[number]?.value = bytes.unescaped(value)
      default: break
      }
    case .keyring, .other: break
    }
  }

  /// The group that a line begins, if only gnome-keyring can have written the line: a secret may have brackets, too.
  private static func header(_ line: Range<Int>, _ bytes: borrowing SecureBytes) -> Group? {
    guard line.count > 2, line.count <= 64, bytes.octet(line.lowerBound) == UInt8(ascii: "["),
      bytes.octet(line.upperBound - 1) == UInt8(ascii: "]"),
      let name = bytes.text((line.lowerBound + 1)..<(line.upperBound - 1))
    else { return nil }
    if name == "keyring" { return .keyring }
    let parts = name.split(separator: ":", omittingEmptySubsequences: false)
    guard let item = parts.first, item.isNumber else { return nil }
    if parts.count == 1 { return .item(String(item)) }
    guard parts.count == 2 else { return nil }
    for kind in ["attribute", "acl"] where parts[1].hasPrefix(kind) {
      let number = parts[1].dropFirst(kind.count)
      guard number.isNumber else { continue }
      return kind == "attribute" ? .attribute(item: String(item), number: String(number)) : .other
    }
    return nil
  }

  /// Whether a line within an item's group does not belong to its secret: a time, which follows every secret.
  private static func isWritersOwn(_ line: Range<Int>, _ bytes: borrowing SecureBytes) -> Bool {
    guard line.count <= 64, let text = bytes.text(line), let equals = text.firstIndex(of: "=") else { return false }
    let name = String(text[..<equals]).trimmed
    let value = String(text[text.index(after: equals)...]).trimmed
    return switch name {
    case "mtime", "ctime", "item-type": Substring(value).isNumber
    // A person moved this group: gnome-keyring writes it first.
    case "display-name": true
    default: false
    }
  }
}

extension Substring {
  /// Whether the text consists of digits.
  fileprivate var isNumber: Bool { !isEmpty && utf8.allSatisfy { (0x30...0x39).contains($0) } }
}

extension String {
  /// The part without spaces around it.
  fileprivate var trimmed: String {
    var rest = Substring(self)
    while rest.first == " " { rest.removeFirst() }
    while rest.last == " " || rest.last == "\r" { rest.removeLast() }
    return String(rest)
  }
}

extension SecureBytes {
  borrowing func octet(_ index: Int) -> UInt8 { bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self) }

  /// The end of the line that begins at `start`: a line end, or the end of the file.
  borrowing func lineEnd(from start: Int) -> Int { index(of: UInt8(ascii: "\n"), in: start..<count) ?? count }

  borrowing func index(of octet: UInt8, in range: Range<Int>) -> Int? {
    bytes.firstIndex(of: octet, in: range)
  }

  /// Text that was written with escapes and is not secret. Bytes that are not UTF-8 are replaced.
  borrowing func unescaped(_ range: Range<Int>) -> String {
    var text: [UInt8] = []
    var rest = range
    // A person wrote spaces behind the equals sign; spaces of a value are escaped.
    while let place = rest.first, octet(place) == UInt8(ascii: " ") { rest = place + 1..<range.upperBound }
    while let place = rest.first {
      let octet = octet(place)
      rest = place + 1..<range.upperBound
      guard octet == UInt8(ascii: "\\"), let escaped = rest.first else {
        text.append(octet)
        continue
      }
      switch self.octet(escaped) {
      case UInt8(ascii: "s"): text.append(UInt8(ascii: " "))
      case UInt8(ascii: "n"): text.append(UInt8(ascii: "\n"))
      case UInt8(ascii: "t"): text.append(UInt8(ascii: "\t"))
      case UInt8(ascii: "r"): text.append(UInt8(ascii: "\r"))
      case UInt8(ascii: "\\"): text.append(UInt8(ascii: "\\"))
      default:
        text.append(octet)
        continue
      }
      rest = escaped + 1..<range.upperBound
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// The bytes of a secret in hexadecimal.
  borrowing func decodedHexadecimal(_ range: Range<Int>) throws(ForeignFileError) -> SecureBytes {
    func digit(_ octet: UInt8) throws(ForeignFileError) -> UInt8 {
      switch octet {
      case 0x30...0x39: octet - 0x30
      case 0x41...0x46: octet - 0x37
      case 0x61...0x66: octet - 0x57
      default: throw .damaged
      }
    }
    guard range.count.isMultiple(of: 2) else { throw .damaged }
    do {
      var decoded = try SecureBytes(count: range.count / 2)
      for index in 0..<decoded.count {
        let place = range.lowerBound + 2 * index
        decoded[index] = try digit(octet(place)) << 4 | digit(octet(place + 1))
      }
      return decoded
    } catch let error as ForeignFileError { throw error } catch { throw .noMemory }
  }
}
