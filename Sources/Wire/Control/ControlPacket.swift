import LatchkeyBytes
import LatchkeyReasons

/// The common form of all packets of the control socket: version, operation, fields. docs/developer/protocols.md has them byte by
/// byte.
public enum ControlPacket {
  /// From the first release on it changes with every change that a program of the version before would not understand.
  static let version: UInt8 = 2
  /// In the place of an operation in an answer: it cannot be done.
  static let declined: UInt8 = 255
  /// In the place of an operation in an answer: the message is of another version than this answer, which has no more than this. It
  /// stays what it is in every version, as the numbers of ``Hello`` and ``ShowPrompt`` do.
  static let otherVersion: UInt8 = 254
  /// In the place of an operation, between programs of different versions. A helper that has opened the keybag asks the daemon to
  /// end, so that the installed one takes its place. A daemon says that it does, or to a hello that it would.
  static let giveWay: UInt8 = 253
  /// The largest packet, in bytes.
  public static let sizeLimit = 32768
  /// The longest path of a folder, in bytes.
  static let pathLimit = 4000
  /// The largest message, in bytes, but for those that say otherwise.
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

  /// The answer of a daemon that ends for a helper of another version; from the helper, the question whether it does.
  public static var thatGivesWay: [UInt8] { begin(giveWay).bytes }

  /// The answer that it cannot be done.
  public static func declined(_ reason: Reason) -> [UInt8] {
    var out = begin(declined)
    reason.encode(into: &out)
    return out.bytes
  }
}
