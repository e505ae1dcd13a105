import LatchkeySecretClient
import LatchkeySodium

/// A file of gnome-keyring or oo7, and the facts about it that need no password.
public enum KeyringFile {
  /// The largest size of a file. gnome-keyring reads and writes the whole file for each item, so no real file comes near this size.
  public static let sizeLimit = 64 << 20
  /// The most items in a file.
  static let itemLimit = 100_000
  /// The most attributes of an item, which is also the limit of a vault.
  static let attributeLimit = 16384

  /// Which form a file has.
  public enum Form: Sendable {
    /// Encrypted under a password.
    case binary
    /// Encrypted under a password, by oo7 or libsecret.
    case variant
    /// Readable by everybody who has the file.
    case textual
  }

  /// The form of a file's bytes.
  public static func form(of bytes: borrowing SecureBytes) throws(ForeignFileError) -> Form {
    if BinaryKeyring.isOne(bytes) {
      // The version, behind the text with which both forms begin.
      return bytes.count >= 18 && bytes.octet(16) == 1 && bytes.octet(17) == 0 ? .variant : .binary
    }
    if TextualKeyring.isOne(bytes) { return .textual }
    throw .unknownFormat
  }

  /// Reads the whole file.
  ///
  /// - Parameters:
  ///   - bytes: the file.
  ///   - name: the file's name without its ending.
  ///   - password: the password of a binary file; other files ignore it.
  public static func read(
    _ bytes: borrowing SecureBytes, name: String, password: borrowing SecureBytes
  ) throws(ForeignFileError) -> ForeignCollection {
    switch try form(of: bytes) {
    case .binary: try BinaryKeyring.read(bytes, name: name, password: password)
    case .variant: try VariantKeyring.read(bytes, name: name, password: password)
    case .textual: try TextualKeyring.read(bytes, name: name)
    }
  }

  /// The keyring's label for people, if the file shows it without a password.
  ///
  /// - Parameter name: the file's name without its ending.
  public static func label(of bytes: borrowing SecureBytes, name: String) throws(ForeignFileError) -> String {
    switch try form(of: bytes) {
    case .binary: try BinaryKeyring.label(of: bytes)
    case .variant: name
    case .textual: try TextualKeyring.read(bytes, name: name).label
    }
  }

  /// The schema that gnome-keyring shows its clients for an item without one, by the item's type. Nil for the usual type: the
  /// program stored such an item without a schema, and would not find an item with a schema to replace it.
  static func schema(ofType type: UInt32) -> String? {
    // The upper half has flags.
    switch type & 0xffff {
    case 1: "org.gnome.keyring.NetworkPassword"
    case 2: "org.gnome.keyring.Note"
    case 3: "org.gnome.keyring.ChainedKeyring"
    case 4: "org.gnome.keyring.EncryptionKey"
    case 0x100: "org.gnome.keyring.PkStorage"
    default: nil
    }
  }

  static let schemaName = "xdg:schema"
}
