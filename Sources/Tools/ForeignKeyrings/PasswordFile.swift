import LatchkeySecretClient
import LatchkeySodium

/// A decrypted file of pass: a password in its first line, and its owner's notes below it.
public enum PasswordFile {
  /// An item for the password, and another for the notes.
  ///
  /// - Parameter name: the file's name, with its folders and without its ending.
  public static func items(
    _ bytes: borrowing SecureBytes, name: String, modified: UInt64
  ) throws(ForeignFileError) -> [ForeignItem] {
    let end = bytes.lineEnd(from: 0)
    let rest = min(end + 1, bytes.count)..<bytes.count
    func item(_ range: Range<Int>, _ label: String, _ field: String) throws(ForeignFileError) -> ForeignItem {
      ForeignItem(
        label: label,
        attributes: [KeyringFile.schemaName: PasswordTable.schema, "name": name, "field": field],
        secret: Secret(try bytes.part(range)), modified: modified)
    }
    let password = try item(0..<end, name, "password")
    return rest.isEmpty ? [password] : [password, try item(rest, "\(name) (notes)", "notes")]
  }
}
