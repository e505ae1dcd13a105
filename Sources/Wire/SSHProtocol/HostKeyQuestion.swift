/// OpenSSH's question whether a host's key is right. Its answer is typed and is no secret. Every other question of OpenSSH's may be
/// for a passphrase, and names of files and hosts in it say what somebody else likes.
public enum HostKeyQuestion {
  private static let beginning = "The authenticity of host '"
  private static let ends = [
    "Are you sure you want to continue connecting (yes/no/[fingerprint])?",
    "Are you sure you want to continue connecting (yes/no)?",
  ]
  /// OpenSSH's questions after an invalid answer.
  private static let again = ["Please type 'yes', 'no' or the fingerprint:", "Please type 'yes' or 'no':"]

  /// Whether OpenSSH asks this about a host's key.
  public static func matches(_ question: String) -> Bool {
    var question = Substring(question)
    while question.last == " " { question.removeLast() }
    return again.contains(String(question)) || question.hasPrefix(beginning) && ends.contains { question.hasSuffix($0) }
  }
}
