import LatchkeyBackup
import LatchkeyBytes

/// How a backup is to be restored.
public struct RestoreRequest: Equatable, Sendable {
  /// The first bytes of the file, as they are.
  public let header: [UInt8]
  /// Whether an item takes the place of one with the same attributes and another secret.
  public let takesTheirs: Bool
  /// Whether nothing is to be written.
  public let isDry: Bool

  /// Puts them together.
  public init(header: [UInt8], takesTheirs: Bool, isDry: Bool) {
    self.header = header
    self.takesTheirs = takesTheirs
    self.isDry = isDry
  }

  func encode(into out: inout ByteWriter) {
    out.number(UInt8(takesTheirs ? 1 : 0) | UInt8(isDry ? 2 : 0))
    out.put(header)
  }

  init?(decoding input: inout ByteReader) {
    guard let flags = try? input.number(UInt8.self), flags <= 3, let header = try? input.take(BackupHeader.size) else {
      return nil
    }
    self.init(header: header, takesTheirs: flags & 1 != 0, isDry: flags & 2 != 0)
  }
}
