/// Why a file of another program could not be read. No case carries anything of the file's but names of
/// columns.
public enum ForeignFileError: Error, Equatable, Sendable {
  /// It is none of the formats that are known.
  case unknownFormat
  /// It is no text in UTF-8.
  case notText
  /// It has no column of that name; the second has what there are.
  case noColumn(String, has: [String])
  /// It is gnome-keyring's form with a version or an encryption that is not known: oo7 writes such files.
  case unknownVersion
  /// The password does not decrypt it.
  case wrongPassword
  /// It is cut off, or a size in it is impossible.
  case damaged
  /// It has more of something than a vault would take.
  case tooLarge
  /// There was no locked memory for it, or the system forbids a function that it needs.
  case noMemory

  /// For a person, behind the file's name.
  public var explanation: String {
    switch self {
    case .unknownFormat: "is not a keyring that Latchkey can read"
    case .notText: "is not text in UTF-8"
    case .noColumn(let name, let columns): "has no column '\(name)'. It has: \(columns.joined(separator: ", "))"
    case .unknownVersion:
      "is a keyring of another version, as oo7 writes it; use 'latchkey import service' while its program runs"
    case .wrongPassword: "does not open with that password"
    case .damaged: "is damaged or cut off"
    case .tooLarge: "is larger than a vault takes"
    case .noMemory: "could not be decrypted: no memory, or the system forbids MD5 and SHA-256"
    }
  }
}
