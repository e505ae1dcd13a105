import LatchkeyBackup
import LatchkeyReasons

@testable import LatchkeyVault

extension Vault {
  /// The problems, as a log has them.
  var problemTexts: [String] { problems.map(\.text) }
}

extension ArchiveReport.Line {
  /// The reason, as a log has it.
  var why: String { reason?.text ?? "" }
}
