import CLatchkeySystemd
import Glibc

/// Log lines. If standard error leads to the journal, lines go there with their priority, otherwise to standard error.
public enum Journal {
  /// The priorities of syslog.
  public enum Priority: Int32, Sendable {
    case error = 3
    case warning = 4
    case notice = 5
    case info = 6
    case debug = 7
  }

  /// Writes one line; control characters become spaces, so that no peer's text can begin a line of its own.
  public static func log(_ priority: Priority, _ message: String) {
    let line = String(
      String.UnicodeScalarView(message.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    if standardErrorIsJournal {
      _ = latchkey_journal_print(priority.rawValue, line)
    } else {
      // One write, so that lines of several processes on one terminal stay whole.
      var bytes = Array("\(program): \(line)\n".utf8)
      _ = write(STDERR_FILENO, &bytes, bytes.count)
    }
  }

  /// Writes one line to the journal, wherever standard error leads: for a program whose standard error is a person's terminal.
  public static func record(_ priority: Priority, _ message: String) {
    let line = String(
      String.UnicodeScalarView(message.unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    _ = latchkey_journal_print(priority.rawValue, line)
  }

  private static let program = CommandLine.arguments.first?.split(separator: "/").last.map { String($0) } ?? "latchkey"

  /// systemd names device and inode of the journal's stream in JOURNAL_STREAM; a program with a redirected standard error inherits
  /// the variable, but not the stream.
  private static let standardErrorIsJournal: Bool = {
    guard let value = getenv("JOURNAL_STREAM") else { return false }
    var status = stat()
    guard fstat(STDERR_FILENO, &status) == 0 else { return false }
    return String(cString: value) == "\(status.st_dev):\(status.st_ino)"
  }()
}
