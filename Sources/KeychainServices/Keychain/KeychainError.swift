public import Foundation
public import LatchkeySecurity

/// The reason why a call failed.
///
/// The names below are the possible errors: `switch error { case .notFound: signIn() default: show(error.message) }`. Two errors
/// with the same reason are equal, even if their messages differ.
public struct KeychainError: Error, Sendable {
  /// The code that the function of the module Security returned.
  public let status: OSStatus
  /// Whether the error is ``notText``, which has the same code as ``damaged``.
  private let isNotText: Bool
  /// The message of the call that failed; nil for the names below.
  private let callMessage: String?

  private init(_ status: OSStatus, isNotText: Bool = false, message: String? = nil) {
    self.status = status
    self.isNotText = isNotText
    callMessage = message
  }

  /// The error for a code; nil for `errSecSuccess`. Make the error on the thread of the failed call, and before the next call on
  /// this thread. Then its ``message`` has the cause.
  ///
  /// - Parameter status: The code that a function of the module Security returned.
  public init?(status: OSStatus) {
    guard status != errSecSuccess else { return nil }
    self.init(status, message: SecCopyErrorMessageString(status, nil) as String?)
  }

  /// Apple's sentence for the code, in English; `OSStatus N` for a code without a sentence. If the code has several causes, an
  /// error from a call adds the cause and what to do. ``notText`` does so too.
  public var message: String {
    let sentence = callMessage ?? SecCopyErrorMessageString(status, nil) as String? ?? "OSStatus \(status)"
    return isNotText ? "\(sentence) The secret is not UTF-8 text. Read it as data." : sentence
  }
}

extension KeychainError: CustomStringConvertible {
  /// The ``message``, because a person reads a printed error.
  public var description: String { message }
}

extension KeychainError {
  /// There is no such item.
  public static let notFound = KeychainError(errSecItemNotFound)
  /// Such an item already exists.
  public static let duplicate = KeychainError(errSecDuplicateItem)
  /// The item cannot be read or changed now: the vault is locked, or the item requires the person's answer and there was none.
  /// ``message`` says which. Try again at the next unlock only if the vault was locked.
  public static let locked = KeychainError(errSecInteractionNotAllowed)
  /// The person dismissed the prompt, or the task was cancelled before its call began.
  public static let cancelled = KeychainError(errSecUserCanceled)
  /// The answer of the person or the program was wrong, the item's class needs a login password and there is none, or the enrolled
  /// fingers are not the ones that the item requires. ``message`` says which.
  public static let authenticationFailed = KeychainError(errSecAuthFailed)
  /// There is no vault, because its service does not run and cannot be started.
  public static let notAvailable = KeychainError(errSecNotAvailable)
  /// The program does not belong to the access group.
  public static let missingEntitlement = KeychainError(errSecMissingEntitlement)
  /// Two values contradict each other, such as flags of an access control.
  public static let invalidParameter = KeychainError(errSecParam)
  /// Linux does not support this access control, because only a watch could meet it.
  public static let unsupported = KeychainError(errSecUnimplemented)
  /// The secret is larger than 32 MiB.
  public static let tooLarge = KeychainError(errSecDataTooLarge)
  /// The disk has no room. Nothing was changed.
  public static let diskFull = KeychainError(errSecDiskFull)
  /// The item is damaged on the disk.
  public static let damaged = KeychainError(errSecDecode)
  /// The call reads text, but the secret is not UTF-8. Read the secret as data.
  public static let notText = KeychainError(errSecDecode, isNotText: true)

  /// Any other error, by its code.
  ///
  /// - Parameter status: The code.
  /// - Returns: The error.
  public static func other(_ status: OSStatus) -> KeychainError { KeychainError(status) }
}

extension KeychainError: Hashable {
  /// Whether two errors have the same reason. Their messages may differ.
  public static func == (one: KeychainError, other: KeychainError) -> Bool {
    one.status == other.status && one.isNotText == other.isNotText
  }

  /// Hashes the reason.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(status)
    hasher.combine(isNotText)
  }
}

extension KeychainError: LocalizedError {
  /// The ``message``.
  public var errorDescription: String? { message }
}

extension KeychainError: CustomNSError {
  /// `NSOSStatusErrorDomain`, so that the `NSError` is the same as on Apple's systems.
  public static var errorDomain: String { NSOSStatusErrorDomain }

  /// The ``status``.
  public var errorCode: Int { Int(status) }

  /// The ``message``, which `localizedDescription` returns.
  public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: message] }
}

extension KeychainError {
  /// The error ``invalidParameter``, with the rule that the flags of an access control break.
  static func invalidFlags(_ rule: String?) -> KeychainError {
    // SecCopyErrorMessageString would add the cause of the last call on this thread, so this uses the sentence itself.
    guard let rule, let sentence = StatusMessage.sentences[errSecParam] else { return .invalidParameter }
    return KeychainError(errSecParam, message: "\(sentence) The flags of 'asking' are invalid: \(rule).")
  }

  /// Throws the error of a failed call. Returns if the call succeeded.
  static func check(_ status: OSStatus) throws(KeychainError) {
    if let error = KeychainError(status: status) { throw error }
  }
}
