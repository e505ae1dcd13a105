public import Foundation
public import LatchkeySecurity

/// The reason why a call failed.
///
/// The names below are its values: `switch error { case .notFound: signIn() default: show(error.message) }`. Two errors with the
/// same reason are equal, whatever their messages say.
public struct KeychainError: Error, Sendable {
  /// The code: what the function of the module Security returned.
  public let status: OSStatus
  /// Whether it is ``notText``, which shares its code with ``damaged``.
  private let isNotText: Bool
  /// The message of the call that failed; nil for a name below.
  private let callMessage: String?

  private init(_ status: OSStatus, isNotText: Bool = false, message: String? = nil) {
    self.status = status
    self.isNotText = isNotText
    callMessage = message
  }

  /// The error for a code; nil for `errSecSuccess`. Make it on the thread of the call, before the next call there: then it has
  /// the cause in its ``message``.
  ///
  /// - Parameter status: The code that a function of the module Security returned.
  public init?(status: OSStatus) {
    guard status != errSecSuccess else { return nil }
    self.init(status, message: SecCopyErrorMessageString(status, nil) as String?)
  }

  /// Apple's sentence for the code, in English; `OSStatus N` for a code that has none. An error that a call threw adds the
  /// cause, and what to do, if the code has several causes. So does ``notText``.
  public var message: String {
    let sentence = callMessage ?? SecCopyErrorMessageString(status, nil) as String? ?? "OSStatus \(status)"
    return isNotText ? "\(sentence) The secret is not UTF-8 text. Read it as data." : sentence
  }
}

extension KeychainError: CustomStringConvertible {
  /// The ``message``, as a printed error is for a person.
  public var description: String { message }
}

extension KeychainError {
  /// There is no such item.
  public static let notFound = KeychainError(errSecItemNotFound)
  /// Such an item exists already.
  public static let duplicate = KeychainError(errSecDuplicateItem)
  /// The item cannot be read or changed now: the vault is locked, or the item requires the person, who was not asked or did not
  /// answer. ``message`` says which. Only if the vault was locked is it worthwhile to try again at the next unlock.
  public static let locked = KeychainError(errSecInteractionNotAllowed)
  /// The person dismissed the prompt, or the task was cancelled before its call began.
  public static let cancelled = KeychainError(errSecUserCanceled)
  /// The answer of the person or the program was wrong, the login has no password for a passcode class, or the enrolled
  /// fingers are not those that the item requires. ``message`` says which.
  public static let authenticationFailed = KeychainError(errSecAuthFailed)
  /// There is no vault: its service does not run and cannot be started.
  public static let notAvailable = KeychainError(errSecNotAvailable)
  /// The program does not belong to the access group.
  public static let missingEntitlement = KeychainError(errSecMissingEntitlement)
  /// Values that contradict each other, such as flags of an access control.
  public static let invalidParameter = KeychainError(errSecParam)
  /// Linux cannot do this: only a watch could meet the access control.
  public static let unsupported = KeychainError(errSecUnimplemented)
  /// The secret is larger than 32 MiB.
  public static let tooLarge = KeychainError(errSecDataTooLarge)
  /// The disk has no room. Nothing was changed.
  public static let diskFull = KeychainError(errSecDiskFull)
  /// The item is damaged on the disk.
  public static let damaged = KeychainError(errSecDecode)
  /// The secret is not UTF-8, and the call reads text. Read it as data.
  public static let notText = KeychainError(errSecDecode, isNotText: true)

  /// Any other error, by its code.
  ///
  /// - Parameter status: The code.
  /// - Returns: The error.
  public static func other(_ status: OSStatus) -> KeychainError { KeychainError(status) }
}

extension KeychainError: Hashable {
  /// Whether two have the same reason. Their messages do not count.
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
  /// ``invalidParameter`` with the rule that the flags of an access control break.
  static func invalidFlags(_ rule: String?) -> KeychainError {
    // Not by SecCopyErrorMessageString, which adds the cause of the last call on this thread.
    guard let rule, let sentence = StatusMessage.sentences[errSecParam] else { return .invalidParameter }
    return KeychainError(errSecParam, message: "\(sentence) The flags of 'asking' are invalid: \(rule).")
  }

  /// Returns if the call succeeded.
  static func check(_ status: OSStatus) throws(KeychainError) {
    if let error = KeychainError(status: status) { throw error }
  }
}
