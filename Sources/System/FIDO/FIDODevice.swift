import CLatchkeyFIDO
import LatchkeySodium

/// One security key, opened.
public struct FIDODevice: ~Copyable {
  /// The size of a challenge and of an answer, in bytes.
  public static let answerSize = 32
  private static let clientDataSize = 32
  private static let userVerified: UInt8 = 0x04
  /// The longest wait for one answer, in milliseconds. A key gives up after half a minute by itself.
  private static let timeout: Int32 = 60_000

  private let device: OpaquePointer

  /// Opens a key.
  public init(_ found: FIDO.Found) throws(FIDOError) {
    guard let device = fido_dev_new() else { throw .noMemory }
    let code = fido_dev_open(device, found.path)
    guard code == FIDO_OK else {
      var owner: OpaquePointer? = device
      fido_dev_free(&owner)
      throw FIDOError(code)
    }
    self.device = device
    _ = fido_dev_set_timeout(device, FIDODevice.timeout)
  }

  deinit {
    fido_dev_close(device)
    var owner: OpaquePointer? = device
    fido_dev_free(&owner)
  }

  /// Whether the security key has a PIN.
  public var hasPIN: Bool { fido_dev_has_pin(device) }

  /// The number of wrong PINs after which the key is blocked; nil if the key does not say it.
  public var triesLeft: Int? {
    var count: Int32 = 0
    return fido_dev_get_retry_count(device, &count) == FIDO_OK ? Int(count) : nil
  }

  /// Whether the security key has all functions that this module needs: PINs, hmac-secret, and credentials that want the PIN.
  public func isCapable() throws(FIDOError) -> Bool {
    guard fido_dev_is_fido2(device), fido_dev_supports_pin(device) else { return false }
    guard let info = fido_cbor_info_new() else { throw .noMemory }
    var owner: OpaquePointer? = info
    defer { fido_cbor_info_free(&owner) }
    try FIDOError.check(fido_dev_get_cbor_info(device, info))
    var names: Set<String> = []
    if let list = fido_cbor_info_extensions_ptr(info) {
      for place in 0..<fido_cbor_info_extensions_len(info) {
        if let name = list[place] { names.insert(String(cString: name)) }
      }
    }
    return names.isSuperset(of: ["hmac-secret", "credProtect"])
  }

  /// Makes a credential, which needs a touch. The credential can be used only with the PIN, and the key does not store it.
  ///
  /// - Parameters:
  ///   - party: the relying party.
  ///   - user: 16 bytes that identify the owner of the credential.
  ///   - pin: the PIN, with a zero byte at its end.
  public func makeCredential(
    for party: String, user: [UInt8], pin: borrowing SecureBytes
  ) throws(FIDOError) -> [UInt8] {
    guard let made = fido_cred_new() else { throw .noMemory }
    var owner: OpaquePointer? = made
    defer { fido_cred_free(&owner) }
    let data = Sodium.randomBytes(FIDODevice.clientDataSize)
    try FIDOError.check(fido_cred_set_type(made, COSE_ES256))
    try FIDOError.check(fido_cred_set_clientdata_hash(made, data, data.count))
    try FIDOError.check(fido_cred_set_rp(made, party, "Latchkey"))
    try FIDOError.check(fido_cred_set_user(made, user, user.count, "latchkey", "latchkey", nil))
    try FIDOError.check(fido_cred_set_extensions(made, FIDO_EXT_HMAC_SECRET | FIDO_EXT_CRED_PROTECT))
    try FIDOError.check(fido_cred_set_prot(made, FIDO_CRED_PROT_UV_REQUIRED))
    try FIDOError.check(pin.withText { fido_dev_make_cred(device, made, $0) })
    guard fido_cred_flags(made) & FIDODevice.userVerified != 0 else { throw .unsupported }
    guard let id = fido_cred_id_ptr(made) else { throw .other(FIDO_ERR_INTERNAL) }
    return Array(UnsafeBufferPointer(start: id, count: fido_cred_id_len(made)))
  }

  /// Says whether the key has one of these credentials. It needs the PIN and no touch.
  public func hasCredential(
    of party: String, _ credentials: [[UInt8]], pin: borrowing SecureBytes
  ) throws(FIDOError) -> Bool {
    do throws(FIDOError) {
      let assertion = try Assertion()
      try assertion.set(party, credentials)
      try FIDOError.check(fido_assert_set_up(assertion.pointer, FIDO_OPT_FALSE))
      try FIDOError.check(pin.withText { fido_dev_get_assert(device, assertion.pointer, $0) })
      return true
    } catch {
      guard error == .noCredential else { throw error }
      return false
    }
  }

  /// The key's answer to a challenge of 32 bytes, for the first of these credentials that it has. It needs the PIN and a touch.
  public func answer(
    to challenge: [UInt8], for party: String, _ credentials: [[UInt8]], pin: borrowing SecureBytes
  ) throws(FIDOError) -> SecureBytes {
    let assertion = try Assertion()
    try assertion.set(party, credentials)
    try FIDOError.check(fido_assert_set_extensions(assertion.pointer, FIDO_EXT_HMAC_SECRET))
    try FIDOError.check(fido_assert_set_hmac_salt(assertion.pointer, challenge, challenge.count))
    try FIDOError.check(pin.withText { fido_dev_get_assert(device, assertion.pointer, $0) })
    // Without user verification the key would have computed another answer.
    guard fido_assert_count(assertion.pointer) == 1,
      fido_assert_flags(assertion.pointer, 0) & FIDODevice.userVerified != 0,
      let answer = fido_assert_hmac_secret_ptr(assertion.pointer, 0),
      fido_assert_hmac_secret_len(assertion.pointer, 0) == FIDODevice.answerSize
    else { throw .unsupported }
    do throws(SodiumError) {
      let bytes = UnsafeRawBufferPointer(start: answer, count: FIDODevice.answerSize)
      var copy = try SecureBytes(count: bytes.count)
      copy.withUnsafeMutableBytes { $0.copyMemory(from: bytes) }
      return copy
    } catch { throw .noMemory }
  }
}

/// A question for one of several credentials; libfido2 erases the answer when it frees the question.
private struct Assertion: ~Copyable {
  let pointer: OpaquePointer

  init() throws(FIDOError) {
    guard let made = fido_assert_new() else { throw .noMemory }
    pointer = made
  }

  borrowing func set(_ party: String, _ credentials: [[UInt8]]) throws(FIDOError) {
    let data = Sodium.randomBytes(32)
    try FIDOError.check(fido_assert_set_clientdata_hash(pointer, data, data.count))
    try FIDOError.check(fido_assert_set_rp(pointer, party))
    for one in credentials { try FIDOError.check(fido_assert_allow_cred(pointer, one, one.count)) }
  }

  deinit {
    var owner: OpaquePointer? = pointer
    fido_assert_free(&owner)
  }
}

extension SecureBytes {
  /// Lends the bytes as a C string. The last byte must be a zero.
  fileprivate borrowing func withText(_ body: (UnsafePointer<CChar>) -> Int32) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress, bytes.last == 0 else { return FIDO_ERR_INVALID_PARAM }
      return body(start.assumingMemoryBound(to: CChar.self))
    }
  }
}
