import LatchkeyKeybag
import LatchkeyYAML

/// One rule: items with matching attributes get the rule's class.
public struct ClassRule: Equatable, Sendable {
  /// The program that the rule is for, and the reason, for people.
  public let name: String
  /// The class.
  public let accessibility: AccessibilityClass
  /// The line on which the rule begins, counted from 1.
  public let line: Int
  private let patterns: [String: AttributePattern]

  /// Names with this prefix are Latchkey's own, and not attributes of the item.
  public static let reservedPrefix = "latchkey:"

  /// The names of attributes that have a wildcard. The rule is then refused, because only values may have wildcards.
  public var literalNames: [String] { patterns.keys.filter { $0.contains { "*?".contains($0) } }.sorted() }

  /// Whether the attributes have every name of the rule, each with a value that fits.
  public func fits(_ attributes: [String: String]) -> Bool {
    patterns.allSatisfy { name, pattern in attributes[name].map(pattern.fits) ?? false }
  }

  /// Reads a rule.
  init(_ node: YAMLNode, path: String) throws(RulesError) {
    guard case .mapping(let entries) = node.content else {
      throw RulesError(path: path, line: node.line, .rules(.incomplete))
    }
    var found: [String: YAMLNode] = [:]
    for entry in entries {
      guard ["name", "match", "class"].contains(entry.key) else {
        throw RulesError(
          path: path, line: entry.line,
          .unknownKey(RulesError.quote(entry.key)))
      }
      found[entry.key] = entry.value
    }
    func value(_ key: String) throws(RulesError) -> YAMLNode {
      guard let value = found[key] else {
        throw RulesError(path: path, line: node.line, .ruleLacks(key))
      }
      return value
    }
    func text(_ key: String) throws(RulesError) -> String {
      let value = try value(key)
      guard let text = value.scalar, !text.isEmpty else {
        throw RulesError(path: path, line: value.line, .because(.verbatim(key), .rules(.mustBeText)))
      }
      return text
    }
    line = node.line
    name = try text("name")
    patterns = try Self.patterns(try value("match"), path: path)
    let className = try text("class")
    guard let accessibility = AccessibilityClass(name: className) else {
      let names = AccessibilityClass.allCases.map(\.name).joined(separator: ", ")
      throw RulesError(
        path: path, line: try value("class").line,
        .unknownClass(RulesError.quote(className), known: names))
    }
    self.accessibility = accessibility
  }

  private static func patterns(_ node: YAMLNode, path: String) throws(RulesError) -> [String: AttributePattern] {
    guard case .mapping(let entries) = node.content, !entries.isEmpty else {
      throw RulesError(
        path: path, line: node.line,
        .rules(.noPatterns))
    }
    var patterns: [String: AttributePattern] = [:]
    for entry in entries {
      guard !entry.key.hasPrefix(reservedPrefix) else {
        throw RulesError(
          path: path, line: entry.line,
          .notAttribute(RulesError.quote(entry.key)))
      }
      guard let pattern = entry.value.scalar, !pattern.isEmpty else {
        throw RulesError(
          path: path, line: entry.value.line,
          .noPattern(RulesError.quote(entry.key)))
      }
      patterns[entry.key] = AttributePattern(pattern)
    }
    return patterns
  }
}
