/// OpenSSH's question whether a host's key is right. The person types the answer, which is no secret. Any other question of OpenSSH
/// may be for a passphrase, even if names of files and hosts in it suggest something else.
public enum HostKeyQuestion {
  private static let beginning = "The authenticity of host '"
  private static let ends = [
    "Are you sure you want to continue connecting (yes/no/[fingerprint])?",
    "Are you sure you want to continue connecting (yes/no)?",
  ]
  /// OpenSSH's questions after an invalid answer.
  private static let again = ["Please type 'yes', 'no' or the fingerprint:", "Please type 'yes' or 'no':"]

  /// Whether a question is OpenSSH's question about a host's key.
  public static func matches(_ question: String) -> Bool {
    var question = Substring(question)
    while question.last == " " { question.removeLast() }
    return again.contains(String(question)) || question.hasPrefix(beginning) && ends.contains { question.hasSuffix($0) }
  }
}
