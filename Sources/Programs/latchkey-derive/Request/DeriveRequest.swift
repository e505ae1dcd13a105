import CLatchkeyHelper
import Glibc
import LatchkeyPosix
import LatchkeySodium

/// A request of the PAM module or the command line: fixed fields (docs/developer/protocols.md), in memory whose descriptor
/// comes through descriptor 0. It carries the password, so it never leaves locked memory.
struct DeriveRequest: ~Copyable {
  let operation: HelperOperation
  /// Whether a vault may be created.
  let mayCreate: Bool
  /// Whether a recovery code may be written to anything but a terminal.
  let mayWriteAnywhere: Bool
  /// Whether the keys may come after the answer.
  let isBeside: Bool
  /// When a person gave the secrets, or the session began, on the clock of `Process.microsecondsSinceBoot`.
  let given: UInt64
  let user: String
  let service: String
  let tty: String
  let remoteHost: String
  /// The folder that replaces the user's home folder; empty for the usual folder.
  let home: String
  /// The folder that replaces the user's runtime folder; empty for the usual folder.
  let runtime: String
  /// The file that replaces `/etc/shadow`; empty for the usual file.
  let shadow: String
  /// The number of the daemon's prompt that the request answers; 0 without a prompt.
  let prompt: UInt64
  /// The file that replaces `/etc/latchkey/services`; empty for the usual file.
  let services: String
  /// The socket that replaces the socket of the device key service; empty for the usual one.
  let device: String
  /// The password, the passphrase for the prompt, a recovery code, or a security key's answer; empty for a login without a password.
  /// For `removePassword` it is the present password, for `changePassword` the new one.
  let token: SecureBytes
  /// `recover` has the new login password here, `changePassword` the former password, `rewrap` the former password or a recovery
  /// code. A change of security keys has the name and more (``SecurityKeyRequest``). Other requests have nothing here.
  let second: SecureBytes

  /// Whether the request comes from a prompt for the login password, or from `latchkey unlock`.
  var isUnlock: Bool { operation == .authenticate && service == "latchkey-unlock" }

  private static let tokenLimit = Int(HELPER_TOKEN_LIMIT)

  /// Reads one request; nil for anything that the module would not send.
  static func receive(from input: borrowing FileDescriptor) -> DeriveRequest? {
    // From here on the memory may have a password.
    Sodium.eraseWhenEnded()
    guard let memory = RequestMemory.receive(from: input), let body = memory.take() else { return nil }
    return DeriveRequest(decoding: body.bytes)
  }

  init?(decoding bytes: RawSpan) {
    guard bytes.byteCount >= Int(HELPER_HEAD_SIZE), bytes[0] == UInt8(HELPER_VERSION) else { return nil }
    let number = bytes[1]
    guard helper_has_operation(number), let operation = HelperOperation(rawValue: number) else { return nil }
    var texts: [String] = []
    var position = Int(HELPER_HEAD_SIZE)
    // The texts, then the token.
    for _ in 0..<Int(helper_field_count) {
      guard let end = DeriveRequest.fieldEnd(bytes, position) else { return nil }
      let field = bytes.extracting((position + 2)..<end).octets
      guard !field.contains(0), let text = String(validating: field, as: UTF8.self) else { return nil }
      texts.append(text)
      position = end
    }
    func text(_ field: HelperField) -> String { texts[Int(field.rawValue)] }
    // A relative path would be resolved below `/`, the folder of this process.
    for field in [HelperField.home, .runtime, .shadow, .services, .device] {
      guard text(field).isEmpty || text(field).hasPrefix("/") else { return nil }
    }
    guard let prompt = DeriveRequest.promptNumber(text(.prompt)), prompt > 0 || operation != .passphrase,
      let end = DeriveRequest.fieldEnd(bytes, position),
      let last = operation.hasSecond ? DeriveRequest.fieldEnd(bytes, end) : end, last == bytes.byteCount,
      !operation.needsToken || end - position > 2,
      end - position - 2 <= DeriveRequest.tokenLimit,
      !operation.hasSecond || (3...DeriveRequest.tokenLimit + 2).contains(last - end),
      let token = try? SecureBytes(copying: bytes.extracting((position + 2)..<end)),
      let second = try? SecureBytes(copying: bytes.extracting(min(end + 2, last)..<last))
    else { return nil }
    self.operation = operation
    let flags = HelperFlags(rawValue: bytes.unsafeLoad(fromByteOffset: 2, as: UInt8.self))
    given = UInt64(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 3, as: UInt64.self))
    mayCreate = !flags.contains(.noCreate)
    mayWriteAnywhere = flags.contains(.anywhere)
    isBeside = flags.contains(.beside)
    (user, service, tty, remoteHost) = (text(.user), text(.service), text(.TTY), text(.remoteHost))
    (home, runtime, shadow) = (text(.home), text(.runtime), text(.shadow))
    (services, device) = (text(.services), text(.device))
    self.prompt = prompt
    self.token = token
    self.second = second
  }

  /// Reads a decimal number from 1 to 2^63 - 1, in the form that the module writes, or 0 for an empty text; nil for any other text.
  private static func promptNumber(_ text: String) -> UInt64? {
    if text.isEmpty { return 0 }
    guard text.utf8.first != UInt8(ascii: "0"), text.utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains),
      let number = UInt64(text), number <= UInt64(Int64.max)
    else { return nil }
    return number
  }

  /// The end of a field that begins at `position` with its length as 16 bits; nil if it does not fit.
  private static func fieldEnd(_ bytes: RawSpan, _ position: Int) -> Int? {
    guard position + 2 <= bytes.byteCount else { return nil }
    let length = Int(UInt16(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: position, as: UInt16.self)))
    let end = position + 2 + length
    return end <= bytes.byteCount ? end : nil
  }
}

extension HelperOperation {
  /// Whether the operation needs a token. An empty password is not accepted here. For a vault without a password, a change of keys
  /// has no token.
  var needsToken: Bool {
    switch self {
    case .authenticate, .passphrase, .checkRecoveryCode, .recover, .changePassword, .rewrap, .createVault,
      .openBySecurityKey:
      true
    case .openSession, .closeSession, .rotate, .createRecoveryCode, .removeRecoveryCode, .removePassword, .addSession,
      .removeSession, .addFinger, .addFingerInMemory, .removeFinger, .addSecurityKey, .removeSecurityKey,
      .renameSecurityKey:
      false
    }
  }

  /// Whether a second secret follows the token.
  var hasSecond: Bool {
    switch self {
    case .recover, .changePassword, .rewrap, .addSecurityKey, .removeSecurityKey, .renameSecurityKey: true
    default: false
    }
  }

  /// Whether the operation needs to know if the login has a password. Other operations do not read the shadow file.
  var asksForLogin: Bool { self == .openSession || self == .removePassword }
}
