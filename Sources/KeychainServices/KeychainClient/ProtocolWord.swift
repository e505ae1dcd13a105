/// The common names of the values of `kSecAttrProtocol`, such as the first part of a URL.
enum ProtocolWord {
  /// Apple's four letters and the word, if the two differ.
  private static let words: [(code: String, word: String)] = [
    ("afp ", "afp"), ("atlk", "appletalk"), ("ftp ", "ftp"), ("ftpa", "ftp-account"), ("ftpx", "ftp-proxy"),
    ("htps", "https"), ("htpx", "http-proxy"), ("htsx", "https-proxy"), ("imps", "imaps"), ("ipp ", "ipp"),
    ("irc ", "irc"), ("ldps", "ldaps"), ("ntps", "nntps"), ("pops", "pop3s"), ("rtsx", "rtsp-proxy"),
    ("smb ", "smb"), ("sox ", "socks"), ("ssh ", "ssh"), ("teln", "telnet"), ("tels", "telnets"),
  ]

  /// The word of a value. A value that has no word is itself the word.
  static func word(of code: String) -> String { words.first { $0.code == code }?.word ?? code }

  /// The value of a word. A word that has no value is itself the value.
  static func code(of word: String) -> String { words.first { $0.word == word }?.code ?? word }
}
