import Glibc
import LatchkeyClassRules
import LatchkeyYAML

/// The user's file that sets the number of generations to keep. If the file or a number is missing, the usual number holds.
public struct HistorySettings {
  /// The path of the file.
  public static func path(home: String) -> String { home + "/.config/latchkey/history.yaml" }

  /// Reads the file at `path`. It must be a regular file that belongs to `owner` or root, and that nobody else can write.
  public static func load(_ path: String, owner: uid_t) throws(RulesError) -> HistoryPolicy {
    guard let text = try RulesFile.text(of: path, owner: owner) else { return HistoryPolicy() }
    return try policy(text, path: path)
  }

  static func policy(_ text: [UInt8], path: String) throws(RulesError) -> HistoryPolicy {
    var policy = HistoryPolicy()
    let document: YAMLNode?
    do { document = try YAMLNode.document(text) } catch {
      throw RulesError(path: path, error)
    }
    guard let document else { return policy }
    guard case .mapping(let entries) = document.content else {
      throw RulesError(path: path, line: document.line, .rules(.notMapping))
    }
    for entry in entries {
      func number(_ range: ClosedRange<Int>) throws(RulesError) -> Int {
        guard let number = entry.value.scalar.flatMap({ Int($0) }), range.contains(number) else {
          throw RulesError(
            path: path, line: entry.line,
            .because(.verbatim(entry.key), .outOfRange(range.lowerBound, range.upperBound)))
        }
        return number
      }
      switch entry.key {
      case "generations":
        guard let word = entry.value.scalar, ["on", "off"].contains(word) else {
          throw RulesError(path: path, line: entry.line, .rules(.generationsOnOff))
        }
        policy.isOn = word == "on"
      case "hourly": policy.hourly = try number(0...1000)
      case "daily": policy.daily = try number(0...1000)
      case "weekly": policy.weekly = try number(0...1000)
      case "days": policy.days = try number(1...3650)
      case "mebibytes": policy.size = try number(1...1_048_576) << 20
      default:
        throw RulesError(
          path: path, line: entry.line,
          .rules(.unknownSetting))
      }
    }
    return policy
  }
}
