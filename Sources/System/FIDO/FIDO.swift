// FIDO: security keys over USB, by libfido2.
//
// A security key is a FIDO2 authenticator. ``FIDO/connected()`` lists the connected keys, and a ``FIDODevice`` is one opened
// key. It makes a credential, and computes an answer to a challenge for a credential that it made before: the extension
// hmac-secret.
//
//     guard let found = try FIDO.connected().first else { return }
//     let device = try FIDODevice(found)
//     let credential = try device.makeCredential(for: party, pin: pin)
//     let answer = try device.answer(to: challenge, for: party, [credential], pin: pin)
//
// The module promises that every question to a credential carries the PIN, except if it is told to ask without a touch. Without the
// PIN, a key computes another answer. PIN and answer are in locked memory here. libfido2 erases its own copies, and the PIN crosses
// the wire encrypted. Errors are an enumeration of problems that a person can solve (``FIDOError``).
//
// It does not verify a key's attestation or signature: a keybag's commitment says whether an answer is right. It makes no
// discoverable credential, so a key keeps nothing of a vault, and needs no space. It does not know vaults or names. It waits as
// long as the key waits for a touch, so the caller is a process of its own (`latchkey-security-key`). It does not cancel an
// unwanted touch: the key gives up by itself after half a minute.
//
// No other module calls libfido2.

import CLatchkeyFIDO
import Glibc
import LatchkeySodium

/// The layer over libfido2.
public enum FIDO {
  /// A connected security key.
  public struct Found: Sendable {
    /// The device file.
    public let path: String
    /// The key's own name of its model; empty without a name.
    public let product: String
  }

  /// The most keys that are listed.
  private static let limit = 16

  /// Prepares libfido2. Call it first.
  public static func begin() {
    // The library writes every packet to standard error if this variable exists.
    unsetenv("FIDO_DEBUG")
    // Without this flag, a key that does not answer, perhaps because a browser uses it, would count as a key that knows only U2F.
    fido_init(FIDO_DISABLE_U2F_FALLBACK)
  }

  /// The security keys that are connected, and that this user may open.
  public static func connected() throws(FIDOError) -> [Found] {
    guard let list = fido_dev_info_new(limit) else { throw .noMemory }
    var owner: OpaquePointer? = list
    defer { fido_dev_info_free(&owner, limit) }
    var count = 0
    guard fido_dev_info_manifest(list, limit, &count) == FIDO_OK else { return [] }
    return (0..<count).compactMap { place in
      guard let info = fido_dev_info_ptr(list, place), let path = fido_dev_info_path(info) else { return nil }
      let product = fido_dev_info_product_string(info).map { String(cString: $0) } ?? ""
      return Found(path: String(cString: path), product: product)
    }
  }
}

/// Why a security key failed.
public enum FIDOError: Error, Equatable, Sendable {
  /// The PIN is wrong.
  case wrongPIN
  /// The PIN was wrong too often: the key takes no PIN until somebody pulls it out and connects it again.
  case pausedPIN
  /// The PIN was wrong too often: only a reset of the key helps.
  case blockedPIN
  /// The key has no PIN.
  case noPIN
  /// The key has none of the credentials.
  case noCredential
  /// Nobody touched the key in time, or the person refused.
  case notTouched
  /// The key does not answer: somebody pulled it out, or another program uses it.
  case interrupted
  /// The key does not have that function.
  case unsupported
  /// Memory could not be had.
  case noMemory
  /// Something else, by libfido2's number.
  case other(Int32)

  init(_ code: Int32) {
    self =
      switch code {
      case FIDO_ERR_PIN_INVALID, FIDO_ERR_PIN_POLICY_VIOLATION, FIDO_ERR_INVALID_ARGUMENT: .wrongPIN
      case FIDO_ERR_PIN_AUTH_BLOCKED: .pausedPIN
      case FIDO_ERR_PIN_BLOCKED: .blockedPIN
      case FIDO_ERR_PIN_NOT_SET: .noPIN
      case FIDO_ERR_NO_CREDENTIALS, FIDO_ERR_INVALID_CREDENTIAL: .noCredential
      case FIDO_ERR_ACTION_TIMEOUT, FIDO_ERR_USER_ACTION_TIMEOUT, FIDO_ERR_OPERATION_DENIED, FIDO_ERR_TIMEOUT:
        .notTouched
      case FIDO_ERR_TX, FIDO_ERR_RX, FIDO_ERR_CHANNEL_BUSY, FIDO_ERR_OPERATION_PENDING, FIDO_ERR_KEEPALIVE_CANCEL,
        FIDO_ERR_INVALID_CHANNEL, FIDO_ERR_NOT_ALLOWED:
        .interrupted
      case FIDO_ERR_UNSUPPORTED_EXTENSION, FIDO_ERR_UNSUPPORTED_OPTION, FIDO_ERR_UNSUPPORTED_ALGORITHM,
        FIDO_ERR_INVALID_COMMAND:
        .unsupported
      default: .other(code)
      }
  }

  /// Throws the error of one call.
  static func check(_ code: Int32) throws(FIDOError) {
    guard code == FIDO_OK else { throw FIDOError(code) }
  }
}
