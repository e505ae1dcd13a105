import LatchkeyBackup
import LatchkeyBytes
import LatchkeyControl

/// Begins a restore on this connection. The restore ends with the connection. The answer is the number of the prompt for the
/// passphrase.
package struct BeginRestore: ControlMessage, Equatable {
  package typealias Answer = UInt64
  package static let operation: UInt8 = 12
  package static let answerOperation = BeginBackup.operation

  /// The first bytes of the file, unchanged.
  package let header: [UInt8]
  /// Whether an item of the backup replaces an item that has the same attributes but another secret.
  package let takesTheirs: Bool
  /// Whether this is a rehearsal that writes nothing.
  package let isDry: Bool

  /// Makes a value from its parts.
  package init(header: [UInt8], takesTheirs: Bool, isDry: Bool) {
    self.header = header
    self.takesTheirs = takesTheirs
    self.isDry = isDry
  }

  package func encode(into out: inout ByteWriter) {
    out.number(UInt8(takesTheirs ? 1 : 0) | UInt8(isDry ? 2 : 0))
    out.put(header)
  }

  package init?(decoding input: inout ByteReader) {
    guard let flags = try? input.number(UInt8.self), flags <= 3, let header = try? input.take(BackupHeader.size) else {
      return nil
    }
    self.init(header: header, takesTheirs: flags & 1 != 0, isDry: flags & 2 != 0)
  }
}
