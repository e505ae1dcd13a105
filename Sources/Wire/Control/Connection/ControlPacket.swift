import LatchkeyBytes
import LatchkeyReasons

/// The common form of all packets of the control socket: version, operation, fields. docs/developer/protocols.md has them byte by
/// byte.
public enum ControlPacket {
  /// The version of the protocol. From the first release on, it grows with every change that the previous version would not
  /// understand.
  static let version: UInt8 = 2
  /// The operation of an answer that declines the request.
  static let declined: UInt8 = 255
  /// The operation of an answer to a message of another version. Such an answer has no fields. This number is the same in every
  /// version, and so are the numbers of ``Hello`` and ``ShowPrompt``.
  static let otherVersion: UInt8 = 254
  /// An operation between programs of different versions. With it, a helper that has opened the keybag asks the daemon to end, so
  /// that the installed daemon replaces it. A daemon answers with it that it ends now, or, to a hello, that it would end.
  static let giveWay: UInt8 = 253
  /// The largest packet, in bytes.
  public static let sizeLimit = 32768
  /// The longest path of a folder, in bytes.
  static let pathLimit = 4000
  /// The size of the largest message, in bytes, unless a message has its own limit.
  public static let messageLimit = 4096
  /// The size of version and operation, in bytes.
  public static let headSize = 2
  static func begin(_ operation: UInt8) -> ByteWriter {
    var out = ByteWriter()
    out.number(version)
    out.number(operation)
    return out
  }

  /// The answer to a message of another version.
  public static var ofOtherVersion: [UInt8] { begin(otherVersion).bytes }

  /// The answer of a daemon that ends for a helper of another version. From the helper, it asks the daemon to end.
  public static var thatGivesWay: [UInt8] { begin(giveWay).bytes }

  /// The answer that declines a request.
  public static func declined(_ reason: Reason) -> [UInt8] {
    var out = begin(declined)
    reason.encode(into: &out)
    return out.bytes
  }
}
