import LatchkeyControl

/// Asks for the next bytes of the backup on this connection.
package struct TakeChunk: FieldlessMessage {
  package typealias Answer = ArchiveChunk
  package static let operation: UInt8 = 13
  package init() {}
}
