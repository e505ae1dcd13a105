import LatchkeyBytes

/// Puts the vault aside, so that the next login creates another one.
package struct PutVaultAside: ControlMessage {
  package typealias Answer = VaultAside
  package static let operation: UInt8 = 29
  /// The path of the vault's folder that the peer expects. If the vault has another path, the daemon does nothing.
  package let folder: String

  package init(folder: String) { self.folder = folder }

  package init?(decoding input: inout ByteReader) {
    guard let folder = input.text(limit: ControlPacket.pathLimit) else { return nil }
    self.folder = folder
  }

  package func encode(into out: inout ByteWriter) { out.text(folder, limit: ControlPacket.pathLimit) }
}

/// A vault that was put aside.
package struct VaultAside: ControlFields, Equatable, Sendable {
  /// The vault's new path.
  package let path: String

  /// A vault at `path`.
  package init(path: String) { self.path = path }

  package init?(decoding input: inout ByteReader) {
    guard let path = try? input.text() else { return nil }
    self.path = path
  }

  package func encode(into out: inout ByteWriter) { out.text(path, limit: ControlPacket.pathLimit) }
}
