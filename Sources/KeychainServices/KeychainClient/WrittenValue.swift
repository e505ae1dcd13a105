import Foundation
import LatchkeySecurity

/// The value of an attribute as it is stored among an item's attributes, which are text. The common form is stored under the common
/// name. The rest of the value is stored under a name of our own.
///
/// The two forms together give back exactly the stored value. A search compares the common form, so it returns exactly the items
/// with this value.
struct WrittenValue: Equatable {
  /// The common form; nil if the value has none, or is empty.
  let world: String?
  /// Our own form; nil if the common form expresses everything. It is "data" if the program gave the common form as data. Otherwise
  /// it is the value's type, and then either "=" and the plain value, or ":" and the value in Base64.
  let own: String?

  /// Writes a value.
  ///
  /// - Parameter hasWorldName: whether there is a common name for this attribute.
  init(_ value: AttributeValue, of name: AttributeName, hasWorldName: Bool) {
    if hasWorldName {
      if value == name.absentValue {
        (world, own) = (nil, nil)
        return
      }
      if let text = WrittenValue.worldText(value, of: name),
        WrittenValue.read(text, of: name).compared == value.compared
      {
        world = text
        if case .data = value { own = "data" } else { own = nil }
        return
      }
    }
    world = nil
    own = WrittenValue.inFull(value)
  }

  /// Reads a value; nil for a missing one.
  static func value(world: String?, own: String?, of name: AttributeName) -> AttributeValue? {
    if own == "data", let world { return .data(Data(world.utf8)) }
    return own.flatMap(fromFull) ?? world.map { read($0, of: name) }
  }

  // MARK: - the world's form

  private static func worldText(_ value: AttributeValue, of name: AttributeName) -> String? {
    let text: String
    switch value {
    case .text(let given): text = name == .protocol ? ProtocolWord.word(of: given) : given
    case .data(let data):
      guard let given = String(validating: data, as: UTF8.self) else { return nil }
      text = given
    case .number(let number): text = String(number)
    case .date: return nil
    }
    return text.isEmpty || !text.canTravel ? nil : text
  }

  private static func read(_ text: String, of name: AttributeName) -> AttributeValue {
    switch name {
    case .protocol, .port:
      if let number = Int32(text), String(number) == text { return .number(Int64(number)) }
      return .text(name == .protocol ? ProtocolWord.code(of: text) : text)
    default: return .text(text)
    }
  }

  // MARK: - our own

  static func inFull(_ value: AttributeValue) -> String? {
    switch value {
    case .text(let text): text.canTravel ? "text=" + text : "text:" + Data(text.utf8).base64EncodedString()
    case .data(let data): "data:" + data.base64EncodedString()
    case .number(let number): "number=" + String(number)
    // Only the vault sets dates.
    case .date: nil
    }
  }

  static func fromFull(_ written: String) -> AttributeValue? {
    if let text = written.after("text=") { return .text(String(text)) }
    if let number = written.after("number=") { return Int64(number).map { .number($0) } }
    if let data = written.after("data:") { return Data(base64Encoded: String(data)).map { .data($0) } }
    guard let text = written.after("text:"), let data = Data(base64Encoded: String(text)) else { return nil }
    return String(validating: data, as: UTF8.self).map { .text($0) }
  }
}

extension String {
  /// Whether a message of the bus can carry the text: it has no NUL, and no character that Unicode reserves for internal use.
  var canTravel: Bool {
    !unicodeScalars.contains { scalar in
      scalar.value == 0 || (0xFDD0...0xFDEF).contains(scalar.value) || scalar.value & 0xFFFE == 0xFFFE
    }
  }

  fileprivate func after(_ start: String) -> Substring? {
    // This compares bytes, because "=" and a combining mark after it would count as one character.
    utf8.starts(with: start.utf8) ? self[utf8.index(utf8.startIndex, offsetBy: start.utf8.count)...] : nil
  }
}
