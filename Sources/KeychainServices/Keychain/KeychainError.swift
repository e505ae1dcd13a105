public import Foundation
public import Security

/// Why a call did not do what it was asked for. Each case is something that a program can do something about.
public enum KeychainError: Error, Hashable, Sendable {
  /// There is no such item.
  case notFound
  /// Such an item is there already.
  case duplicate
  /// The item cannot be read or changed now: the session is locked, or the person would have to be asked and may not be, or
  /// cannot be. Worth another try after the next unlock.
  case locked
  /// The person dismissed the question; or the task was cancelled before its call began.
  case cancelled
  /// The answer of the person or the program was wrong; a passcode class without a login password; an item that waits for the
  /// fingers that were enrolled when it was stored.
  case authenticationFailed
  /// There is no vault: its service does not run and cannot be started.
  case notAvailable
  /// The program does not belong to the access group.
  case missingEntitlement
  /// Values that do not go together, as flags of an access control.
  case invalidParameter
  /// Nothing on Linux does this: an access control that only a watch could meet.
  case unsupported
  /// The secret is larger than the vault takes: 32 MiB.
  case tooLarge
  /// No room on the disk. Nothing was changed.
  case diskFull
  /// The vault takes no changes.
  case readOnly
  /// The item is damaged on the disk.
  case damaged
  /// The secret is no text in UTF-8, and text was asked for. As data it can be had.
  case notText
  /// Anything else, with its code.
  case other(OSStatus)

  /// The case for a code; nil for `errSecSuccess`.
  ///
  /// - Parameter status: The code that a function of the module Security returned.
  public init?(status: OSStatus) {
    switch status {
    case errSecSuccess: return nil
    case errSecItemNotFound: self = .notFound
    case errSecDuplicateItem: self = .duplicate
    case errSecInteractionNotAllowed: self = .locked
    case errSecUserCanceled: self = .cancelled
    case errSecAuthFailed: self = .authenticationFailed
    case errSecNotAvailable: self = .notAvailable
    case errSecMissingEntitlement: self = .missingEntitlement
    case errSecParam: self = .invalidParameter
    case errSecUnimplemented: self = .unsupported
    case errSecDataTooLarge: self = .tooLarge
    case errSecDiskFull: self = .diskFull
    case errSecReadOnly: self = .readOnly
    case errSecDecode: self = .damaged
    default: self = .other(status)
    }
  }

  /// The code: what the function of the module Security returned.
  public var status: OSStatus {
    switch self {
    case .notFound: errSecItemNotFound
    case .duplicate: errSecDuplicateItem
    case .locked: errSecInteractionNotAllowed
    case .cancelled: errSecUserCanceled
    case .authenticationFailed: errSecAuthFailed
    case .notAvailable: errSecNotAvailable
    case .missingEntitlement: errSecMissingEntitlement
    case .invalidParameter: errSecParam
    case .unsupported: errSecUnimplemented
    case .tooLarge: errSecDataTooLarge
    case .diskFull: errSecDiskFull
    case .readOnly: errSecReadOnly
    case .damaged, .notText: errSecDecode
    case .other(let status): status
    }
  }

  /// Apple's sentence for the code, in English; `OSStatus N` for a code that has none. On the thread of the call, and before the
  /// next call there, the cause follows, and what to do.
  public var message: String { SecCopyErrorMessageString(status, nil) as String? ?? "OSStatus \(status)" }
}

extension KeychainError: LocalizedError {
  /// ``message``.
  public var errorDescription: String? { message }
}

extension KeychainError: CustomNSError {
  /// `NSOSStatusErrorDomain`: as an `NSError` it is what Apple's systems would have.
  public static var errorDomain: String { NSOSStatusErrorDomain }

  /// ``status``.
  public var errorCode: Int { Int(status) }

  /// ``message``, which is what `localizedDescription` says.
  public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: message] }
}

extension KeychainError {
  /// Goes on where a call worked.
  static func check(_ status: OSStatus) throws(KeychainError) {
    if let error = KeychainError(status: status) { throw error }
  }
}
