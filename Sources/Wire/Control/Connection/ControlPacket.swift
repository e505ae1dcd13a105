import LatchkeyBytes
import LatchkeyReasons

/// The common form of all packets of the control socket: version, operation, fields. docs/developer/protocols.md has them byte by
/// byte.
public enum ControlPacket {
  /// The version of the protocol. From the first release on, it grows with every change that the version before would not
  /// understand.
  static let version: UInt8 = 2
  /// In the place of an operation in an answer: the daemon declines the request.
  static let declined: UInt8 = 255
  /// In the place of an operation in an answer: the message is of another version than this answer, which has no fields. This
  /// number is the same in every version, like those of ``Hello`` and ``ShowPrompt``.
  static let otherVersion: UInt8 = 254
  /// Stands in the place of an operation, between programs of different versions. A helper that has opened the keybag asks the
  /// daemon to end, so that the installed one takes its place. A daemon answers with it that it ends now, or to a hello that it
  /// would end.
  static let giveWay: UInt8 = 253
  /// The largest packet, in bytes.
  public static let sizeLimit = 32768
  /// The longest path of a folder, in bytes.
  static let pathLimit = 4000
  /// The size of the largest message, in bytes, unless a message has its own limit.
  public static let messageLimit = 4096
  /// Version and operation, in bytes.
  public static let headSize = 2
  static func begin(_ operation: UInt8) -> ByteWriter {
    var out = ByteWriter()
    out.number(version)
    out.number(operation)
    return out
  }

  /// The answer to a message of another version.
  public static var ofOtherVersion: [UInt8] { begin(otherVersion).bytes }

  /// The answer of a daemon that ends for a helper of another version; from the helper, the question whether the daemon ends.
  public static var thatGivesWay: [UInt8] { begin(giveWay).bytes }

  /// The answer that declines a request.
  public static func declined(_ reason: Reason) -> [UInt8] {
    var out = begin(declined)
    reason.encode(into: &out)
    return out.bytes
  }
}
