/// Why a file of another program could not be read. No case carries anything of the file's but names of
/// columns.
public enum ForeignFileError: Error, Equatable, Sendable {
  /// It is none of the formats that are known.
  case unknownFormat
  /// It is no text in UTF-8.
  case notText
  /// It has no column of that name; the second has what there are.
  case noColumn(String, has: [String])
  /// It is a keyring with a version or an encryption that is not known.
  case unknownVersion
  /// It is an export of another version of Latchkey.
  case newerExport
  /// It is a wallet with a version, cipher or hash that is not known.
  case unknownWallet
  /// It is a wallet that is encrypted for a key of GPG.
  case forGPG
  /// The salt of a wallet is missing, or is none.
  case noSalt
  /// The password does not decrypt it.
  case wrongPassword
  /// It is cut off, or a size in it is impossible.
  case damaged
  /// It has more of something than a vault would take.
  case tooLarge
  /// It is a database that costs more memory or time to open than any that a person uses.
  case tooCostly
  /// There was no locked memory for it, or the system forbids a function that it needs.
  case noMemory

  /// For a person, behind the file's name.
  public var explanation: String {
    switch self {
    case .unknownFormat: "is not a file that Latchkey can read"
    case .notText: "is not text in UTF-8"
    case .noColumn(let name, let columns): "has no column '\(name)'. It has: \(columns.joined(separator: ", "))"
    case .unknownVersion:
      "is a keyring of an unknown version; use 'latchkey import service' while its program runs"
    case .newerExport: "was exported by a newer version of Latchkey; install that one here"
    case .unknownWallet:
      "is a wallet of an unknown version; use 'latchkey import kwallet --running' while KWallet runs"
    case .forGPG: "is encrypted with GPG; use 'latchkey import kwallet --running' while KWallet runs"
    case .noSalt: "has no salt beside it: a file of the same name that ends with .salt and has 56 bytes"
    case .wrongPassword: "does not open with that password"
    case .damaged: "is damaged or cut off"
    case .tooLarge: "is larger than a vault takes"
    case .tooCostly:
      """
      asks for more than 1 GiB of memory, or for minutes of work, to be opened. If it is your own, open it in KeePassXC, \
      lower the settings in 'Database Security', and save it
      """
    case .noMemory: "could not be decrypted: no memory, or the system forbids what it is encrypted with"
    }
  }
}
