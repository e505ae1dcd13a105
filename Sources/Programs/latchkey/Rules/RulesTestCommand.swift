import ArgumentParser
import Glibc
import LatchkeyClassRules
import LatchkeyGettext
import LatchkeyKeybag

/// `latchkey rules test`
struct RulesTestCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "test", abstract: translated("Say which class a new item with these attributes would get, and why."),
    discussion: translated(
      "For example: latchkey rules test xdg:schema=org.gnome.OnlineAccounts goa-identity=google:me"))

  @OptionGroup var place: RulesPlace
  @Flag(help: .translated("As JSON, with the same keys in every version."))
  var json = false
  @Argument(help: ArgumentHelp(translated("The item's attributes."), valueName: "name=value"))
  var attributes: [String]

  private static let accessibleName = ClassRule.reservedPrefix + "accessible"

  func validate() throws { _ = try parsed() }

  func run() throws {
    try Failure.telling {
      let files = try place.files()
      let item = try parsed()
      print(try answer(item.named, ClassRules.decision(for: item.attributes, in: files)))
    }
  }

  /// The attributes, and the class if an attribute names it.
  private func parsed() throws -> (attributes: [String: String], named: AccessibilityClass?) {
    var (result, named): ([String: String], AccessibilityClass?) = ([:], nil)
    for argument in attributes {
      guard let equals = argument.firstIndex(of: "=") else {
        throw ValidationError(translated("'\(argument)' is not of the form NAME=VALUE."))
      }
      let (name, value) = (String(argument[..<equals]), String(argument[argument.index(after: equals)...]))
      if name == Self.accessibleName {
        guard let known = AccessibilityClass(name: value) else {
          let names = AccessibilityClass.allCases.map(\.name).joined(separator: ", ")
          throw ValidationError(translated("The class '\(value)' does not exist. The classes are \(names)."))
        }
        named = known
      } else if name.hasPrefix(ClassRule.reservedPrefix) {
        throw ValidationError(translated("The only attribute that begins with latchkey: is \(Self.accessibleName)."))
      } else if result.updateValue(value, forKey: name) != nil {
        throw ValidationError(translated("'\(name)' is given twice."))
      }
    }
    return (result, named)
  }

  private struct Report: Encodable {
    let `class`: String
    /// "attribute", "rule" or "default".
    let reason: String
    var rule: String?
    var file: String?
    var line: Int?
  }

  private func answer(_ named: AccessibilityClass?, _ decision: ClassRules.Decision?) throws -> String {
    let report =
      if let named {
        Report(class: named.name, reason: "attribute")
      } else if let decision {
        Report(
          class: decision.rule.accessibility.name, reason: "rule", rule: decision.rule.name, file: decision.path,
          line: decision.rule.line)
      } else {
        Report(class: AccessibilityClass.whenUnlocked.name, reason: "default")
      }
    if json {
      return try JSONText.of(report)
    }
    let why =
      if let file = report.file, let line = report.line, let rule = report.rule {
        "\(file):\(line): \(rule)"
      } else if named != nil {
        translated("The attribute \(Self.accessibleName) names the class.")
      } else {
        translated("No rule fits, so this is the default class.")
      }
    return report.class + "\n" + TerminalText.printable(why)
  }
}
