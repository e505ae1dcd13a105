import LatchkeyGettext

/// Why a file of another program could not be read. No case carries any content of the file except names of columns.
public enum ForeignFileError: Error, Equatable, Sendable {
  /// The file's format is unknown.
  case unknownFormat
  /// The file is not text in UTF-8.
  case notText
  /// The file has no column of that name. The second value has the columns that exist.
  case noColumn(String, has: [String])
  /// The file is a table whose first row has a value that begins with a quote on that line and does not end with one.
  case openQuote(line: Int)
  /// The file is a keyring with a version or an encryption that is not known.
  case unknownVersion
  /// The file is an export of another version of Latchkey.
  case newerExport
  /// The file is a wallet with a version, cipher or hash that is not known.
  case unknownWallet
  /// The file is a wallet that is encrypted for a key of GPG.
  case forGPG
  /// The salt of a wallet is missing or invalid.
  case noSalt
  /// The password does not decrypt the file.
  case wrongPassword
  /// The file is cut off, or a size in it is impossible.
  case damaged
  /// The file has more of something than a vault accepts.
  case tooLarge
  /// The file is a database that needs more memory or time to open than any that a person uses.
  case tooCostly
  /// There was no locked memory for the file, or the system forbids a function that the file needs.
  case noMemory

  /// For a person, behind the file's name.
  public var explanation: String {
    switch self {
    case .unknownFormat: translated("is not a file that Latchkey can read")
    case .notText: translated("is not text in UTF-8")
    case .noColumn(let name, let columns): Self.noColumn(name, columns.joined(separator: ", "))
    case .openQuote(let line):
      translated("has a value in its first row that begins with a quote on line \(line) and does not end with one")
    case .unknownVersion:
      translated("is a keyring of an unknown version; use 'latchkey import service' while its program runs")
    case .newerExport: translated("was exported by a newer version of Latchkey; install that one here")
    case .unknownWallet:
      translated("is a wallet of an unknown version; use 'latchkey import kwallet --running' while KWallet runs")
    case .forGPG: translated("is encrypted with GPG; use 'latchkey import kwallet --running' while KWallet runs")
    case .noSalt: translated("has no salt beside it: a file of the same name that ends with .salt and has 56 bytes")
    case .wrongPassword: translated("does not open with that password")
    case .damaged: translated("is damaged or cut off")
    case .tooLarge: translated("is larger than a vault takes")
    case .tooCostly:
      translated(
        """
        asks for more than 1 GiB of memory, or for minutes of work, to be opened. If it is your own, open it in KeePassXC, \
        lower the settings in 'Database Security', and save it
        """)
    case .noMemory:
      translated("could not be decrypted: there is not enough memory, or the system forbids the file's cipher")
    }
  }

  private static func noColumn(_ name: String, _ list: String) -> String {
    translated("has no column '\(name)'. It has: \(list)")
  }
}
