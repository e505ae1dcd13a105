public import Foundation

/// The domain of ``LAError``.
public let LAErrorDomain = "com.apple.LocalAuthentication"

/// The reason why an authentication failed. The numbers are Apple's.
///
/// On Linux no call of a context fails with such an error, because the `SecItem` functions return a code instead. The type exists
/// for programs that report such errors to their own callers.
public struct LAError: CustomNSError, Hashable, Sendable {
  /// The reasons.
  public enum Code: Int, Sendable {
    /// The person's answer was wrong.
    case authenticationFailed = -1
    /// The person dismissed the question.
    case userCancel = -2
    /// The person chose another way.
    case userFallback = -3
    /// The system withdrew the question.
    case systemCancel = -4
    /// The login has no password.
    case passcodeNotSet = -5
    /// There is no sensor.
    case biometryNotAvailable = -6
    /// No finger is enrolled.
    case biometryNotEnrolled = -7
    /// Too many wrong fingers.
    case biometryLockout = -8
    /// The program withdrew the question.
    case appCancel = -9
    /// The context is invalidated.
    case invalidContext = -10
    /// There is no watch.
    case companionNotAvailable = -11
    /// The sensor is not paired.
    case biometryNotPaired = -12
    /// The sensor is not connected.
    case biometryDisconnected = -13
    /// The question does not fit the size of its window.
    case invalidDimensions = -14
    /// A question to the person is needed, and the program forbids questions.
    case notInteractive = -1004

    /// Older name of ``biometryNotAvailable``.
    public static let touchIDNotAvailable = biometryNotAvailable
    /// Older name of ``biometryNotEnrolled``.
    public static let touchIDNotEnrolled = biometryNotEnrolled
    /// Older name of ``biometryLockout``.
    public static let touchIDLockout = biometryLockout
    /// Older name of ``companionNotAvailable``.
    public static let watchNotAvailable = companionNotAvailable
  }

  /// The reason.
  public let code: Code

  /// An error for a reason.
  public init(_ code: Code) { self.code = code }

  /// The ``LAErrorDomain``.
  public static var errorDomain: String { LAErrorDomain }

  /// The reason's number.
  public var errorCode: Int { code.rawValue }
}

// The reasons as members of the error, so that `catch LAError.userCancel` compiles.
extension LAError {
  /// ``Code/authenticationFailed``.
  public static let authenticationFailed = Code.authenticationFailed
  /// ``Code/userCancel``.
  public static let userCancel = Code.userCancel
  /// ``Code/userFallback``.
  public static let userFallback = Code.userFallback
  /// ``Code/systemCancel``.
  public static let systemCancel = Code.systemCancel
  /// ``Code/passcodeNotSet``.
  public static let passcodeNotSet = Code.passcodeNotSet
  /// ``Code/biometryNotAvailable``.
  public static let biometryNotAvailable = Code.biometryNotAvailable
  /// ``Code/biometryNotEnrolled``.
  public static let biometryNotEnrolled = Code.biometryNotEnrolled
  /// ``Code/biometryLockout``.
  public static let biometryLockout = Code.biometryLockout
  /// ``Code/appCancel``.
  public static let appCancel = Code.appCancel
  /// ``Code/invalidContext``.
  public static let invalidContext = Code.invalidContext
  /// ``Code/companionNotAvailable``.
  public static let companionNotAvailable = Code.companionNotAvailable
  /// ``Code/biometryNotPaired``.
  public static let biometryNotPaired = Code.biometryNotPaired
  /// ``Code/biometryDisconnected``.
  public static let biometryDisconnected = Code.biometryDisconnected
  /// ``Code/invalidDimensions``.
  public static let invalidDimensions = Code.invalidDimensions
  /// ``Code/notInteractive``.
  public static let notInteractive = Code.notInteractive
  /// ``Code/touchIDNotAvailable``.
  public static let touchIDNotAvailable = Code.touchIDNotAvailable
  /// ``Code/touchIDNotEnrolled``.
  public static let touchIDNotEnrolled = Code.touchIDNotEnrolled
  /// ``Code/touchIDLockout``.
  public static let touchIDLockout = Code.touchIDLockout
  /// ``Code/watchNotAvailable``.
  public static let watchNotAvailable = Code.watchNotAvailable
}

extension LAError.Code {
  /// Whether an error has this reason, for use in `catch`.
  ///
  /// - Parameters:
  ///   - code: The reason.
  ///   - error: Any error.
  /// - Returns: Whether the error is an ``LAError`` with this reason.
  public static func ~= (code: LAError.Code, error: any Error) -> Bool { (error as? LAError)?.code == code }
}
