import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyDoctor
import LatchkeyGettext
import LatchkeyPosix

/// `latchkey doctor`
struct DoctorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "doctor",
    abstract: translated("Check the system settings that the vault depends on, and say what fixes each."),
    discussion: translated(
      """
      Prints one line for each check: its state (ok, warning, broken, or unknown if it could not be examined), its name, and \
      what was found. The line below has the command that fixes it, or other advice. It checks the PAM files, the bus, the \
      units, memory limits, the device key, the screen locker and other programs that keep secrets. It changes nothing, \
      starts nothing and asks nothing. Run it as yourself, in your session.

      Exit status: 0 all is well; 4 there is something to fix; 1 a check is unknown, and nothing else is wrong.

      Examples:
        latchkey doctor
        latchkey doctor --json
      """))

  @OptionGroup var place: DaemonPlace
  @Flag(help: .translated("As JSON, with the same keys in every version."))
  var json = false
  @Option(help: .hidden)
  var root = "/"
  @Option(help: .hidden)
  var home: String?

  func run() throws {
    try Failure.telling {
      guard let home = home ?? Account(uid: getuid())?.home else {
        throw Failure.unavailable(translated("you have no account"))
      }
      let facts = SessionQuestions(place: place, home: home).facts()
      let doctor = Doctor(root: SystemRoot(root), facts: facts, program: "/proc/self/exe")
      let findings = doctor.findings()
      let worst = findings.map(\.condition).max() ?? .ok
      print(json ? try JSONText.of(Report(worst, findings)) : Self.text(findings))
      switch worst {
      case .ok: break
      case .unknown: throw ExitCode(1)
      case .warning, .broken: throw ExitCode(4)
      }
    }
  }

  private struct Report: Encodable {
    let state: String
    let checks: [Check]

    init(_ worst: Finding.Condition, _ findings: [Finding]) {
      state = worst.rawValue
      checks = findings.map(Check.init)
    }
  }

  private struct Check: Encodable {
    let finding: Finding

    private enum CodingKeys: String, CodingKey { case id, state, found, command, advice }

    init(_ finding: Finding) { self.finding = finding }

    /// Every check has the same keys in JSON.
    func encode(to encoder: any Encoder) throws {
      var out = encoder.container(keyedBy: CodingKeys.self)
      try out.encode(finding.id, forKey: .id)
      try out.encode(finding.condition.rawValue, forKey: .state)
      try out.encode(finding.found, forKey: .found)
      try out.encode(finding.command, forKey: .command)
      try out.encode(finding.advice, forKey: .advice)
    }
  }

  private static func text(_ findings: [Finding]) -> String {
    let stateWidth = "warning".count + 2
    let idWidth = (findings.map(\.id.count).max() ?? 0) + 2
    var lines: [String] = []
    var commands = Set<String>()
    for finding in findings {
      lines.append(
        finding.condition.rawValue.filling(column: stateWidth)
          + finding.id.filling(column: idWidth) + finding.found)
      switch finding.fix {
      case .command(let command):
        let line = command.line
        guard commands.insert(line).inserted else {
          lines.append("  " + translated("fix: as above"))
          continue
        }
        lines.append("  " + translated("fix: \(line)"))
        if let remark = finding.remark { lines.append("  \(remark)") }
      case .advice(let text): lines.append("  " + translated("fix: \(text)"))
      case nil: break
      }
    }
    return lines.map(TerminalText.printable).joined(separator: "\n")
  }
}
