import LatchkeyBackup
import LatchkeyReasons

@testable import LatchkeyVault

extension Vault {
  /// The problems as a log shows them.
  var problemTexts: [String] { problems.map(\.text) }
}

extension ArchiveReport.Line {
  /// The reason as a log shows it.
  var why: String { reason?.text ?? "" }
}
