import LatchkeySodium

/// The messages of OpenSSH's `ssh-sk-helper`, which speaks to security keys for an agent: one request on a socket, and one answer.
/// OpenSSH does not document this protocol for other programs. But it numbers the versions, and each message begins with the
/// version.
public enum SecurityKeyHelper {
  /// The version of OpenSSH 8.9 to 10. The helper refuses any other version.
  static let version: UInt8 = 5
  private static let (error, sign): (UInt32, UInt32) = (0, 1)
  /// OpenSSH's level of logging for errors only.
  private static let logLevel: UInt32 = 2
  /// OpenSSH's number for a PIN that is missing or wrong.
  private static let wrongPassphrase: UInt32 = 43
  /// A longer answer is malformed.
  public static let answerLimit = 16 << 10

  /// The outcome of a request.
  public enum Answer: Equatable, Sendable {
    /// A signature, which begins with its type.
    case signature([UInt8])
    /// The device requires a PIN, or the given PIN was wrong.
    case needsPIN
    /// OpenSSH's number of an error.
    case failed(UInt32)
    /// The answer has another version of the protocol.
    case otherVersion(UInt8)
    /// The answer is damaged or missing.
    case malformed
  }

  /// The request for a signature.
  ///
  /// - Parameters:
  ///   - provider: the library that speaks to the device, or ``SecurityKey/internalProvider``.
  ///   - pin: the device's PIN; empty if there is none.
  public static func request(
    _ data: [UInt8], by key: borrowing PrivateKey, provider: String, pin: RawSpan
  ) throws(SodiumError) -> SecureBytes {
    var front = SSHWriter()
    // The second part has all strings except the key.
    let strings = 20 + provider.utf8.count + data.count + pin.byteCount
    front.number(UInt32(1 + 4 + 1 + 4 + 4 + key.fields.count + strings))
    front.byte(version)
    front.number(sign)
    front.byte(1)  // The helper logs to standard error, which is the journal.
    front.number(logLevel)
    front.number(UInt32(key.fields.count))
    var rest = SSHWriter()
    rest.text(provider)
    rest.string(data)
    rest.text("")  // the algorithm, which the key says
    rest.number(0)  // No compatibility with the faults of old programs.
    rest.number(UInt32(pin.byteCount))
    let fields = front.bytes.count
    var request = try SecureBytes(count: fields + key.fields.count + rest.bytes.count + pin.byteCount)
    request.write(front.bytes.span.bytes, at: 0)
    request.write(key.fields.bytes, at: fields)
    request.write(rest.bytes.span.bytes, at: fields + key.fields.count)
    request.write(pin, at: request.count - pin.byteCount)
    return request
  }

  /// Reads the answer to a request.
  public static func answer(_ answer: [UInt8]) -> Answer {
    let bytes = answer.span.bytes
    var reader = SSHReader(0..<answer.count)
    do {
      guard try reader.number(bytes) == answer.count - 4 else { return .malformed }
      let other = try reader.byte(bytes)
      guard other == version else { return .otherVersion(other) }
      switch try reader.number(bytes) {
      case error:
        let number = try reader.number(bytes)
        return number == wrongPassphrase ? .needsPIN : .failed(number)
      case sign:
        let signature = try reader.octets(bytes)
        return reader.isAtEnd ? .signature(signature) : .malformed
      default: return .malformed
      }
    } catch { return .malformed }
  }
}
