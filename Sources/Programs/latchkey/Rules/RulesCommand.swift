import ArgumentParser
import Glibc
import LatchkeyClassRules
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyPosix

/// `latchkey rules`
struct RulesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rules", abstract: translated("Say which class a new item gets."),
    discussion: translated(
      """
      The class of a new item is, in this order: the class that the program names (attribute latchkey:accessible), the \
      class of the item that it replaces, the first matching rule in ~/.config/latchkey/rules.yaml, then in the \
      installed rules, else when-unlocked. The installed file says how rules are written. Works without a running \
      vault.
      """),
    subcommands: [RulesTestCommand.self, RulesCheckCommand.self])
}

/// The paths of the files of rules.
struct RulesPlace: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      translated("The home folder with .config/latchkey/rules.yaml."),
      discussion: translated("By default your account's home folder."),
      valueName: "dir"))
  var home: String?
  @Option(
    help: ArgumentHelp(
      translated("The installed rules."),
      discussion: translated("By default share/latchkey/rules.yaml beside the folder of this program."),
      valueName: "file"))
  var shipped: String?

  /// The user's file, and then the installed file.
  private var paths: [(path: String, mustExist: Bool)] {
    get throws {
      guard let home = home ?? Account(uid: getuid())?.home else {
        throw Failure.unavailable(translated("you have no account"))
      }
      return [(RulesFile.userPath(home: home), false), (shipped ?? Self.installed, true)]
    }
  }

  /// The path of the installed rules, by the layout of `make install`: PREFIX/bin/latchkey, PREFIX/share/latchkey/rules.yaml.
  private static var installed: String {
    let prefix = FilePath.folder(of: LatchkeyPosix.Process.folder)
    return (prefix == "/" ? "" : prefix) + "/share/latchkey/rules.yaml"
  }

  /// The result at each place: a file, nothing, or an error.
  func load() throws -> [(path: String, outcome: Result<RulesFile?, RulesError>)] {
    try paths.map { path, mustExist in
      do throws(RulesError) {
        let file = try RulesFile.load(path, owner: getuid())
        if file == nil && mustExist {
          return (path, .failure(RulesError(path: path, .both(.rules(.missing), .rules(.installAgain)))))
        }
        return (path, .success(file))
      } catch { return (path, .failure(error)) }
    }
  }

  /// The files that exist, the user's first; ends the program if one has an error.
  func files() throws -> [RulesFile] {
    let loaded = try load()
    let errors = loaded.compactMap { if case .failure(let error) = $0.outcome { error.reason.told } else { nil } }
    guard errors.isEmpty else { throw Failure.rules(errors) }
    return loaded.compactMap { try? $0.outcome.get() }
  }
}

/// `latchkey rules check`
struct RulesCheckCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: translated("Look for errors in the files of rules."),
    discussion: translated("The exit status is 1 if a file has an error. The message names file and line."))

  @OptionGroup var place: RulesPlace

  func run() throws {
    try Failure.telling {
      for (path, outcome) in try place.load() {
        guard case .success(let file) = outcome else { continue }
        guard let file else {
          print(translated("\(path): does not exist, and is optional"))
          continue
        }
        let count = file.rules.count
        print(translated(count, one: "\(path): \(count) rule", other: "\(path): \(count) rules"))
        for rule in file.rules {
          for name in rule.literalNames {
            print(
              translated("\(path):\(rule.line): the name '\(name)' is literal: * and ? are patterns in values only"))
          }
        }
        for rule in file.rules where rule.accessibility.tier == .device {
          print(
            translated(
              "\(path):\(rule.line): the class \(rule.accessibility.name) needs no password, and is deprecated"))
        }
      }
      _ = try place.files()
    }
  }
}
