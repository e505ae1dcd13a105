import LatchkeyBackup
import LatchkeyReasons

@testable import LatchkeyVault

extension Vault {
  /// The texts of the problems, as a log shows them.
  var problemTexts: [String] { problems.map(\.text) }
}

extension ArchiveReport.Line {
  /// The text of the reason, as a log shows it.
  var why: String { reason?.text ?? "" }
}
