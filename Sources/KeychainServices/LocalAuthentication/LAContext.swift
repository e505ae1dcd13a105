@_exported public import Foundation
@_exported public import LatchkeySecurity
import Synchronization

/// How the person is asked for an item, and the answers that the program brings: the value of `kSecUseAuthenticationContext`.
///
/// On Linux it has only the functions that items need. Whether a finger or a password is asked for, and how, is decided by the
/// item's access control and the vault; a context asks nobody by itself.
open class LAContext: NSObject, @unchecked Sendable {
  private struct State {
    var localizedReason = ""
    var localizedCancelTitle: String?
    var localizedFallbackTitle: String?
    var interactionNotAllowed = false
    var reuseDuration: TimeInterval = 0
    var passphrase: LockedBytes?
    var isInvalidated = false
    var companion: (any AnyObject & Sendable)?
  }

  private let state = Mutex(State())

  /// A context that changes nothing.
  public override init() {}

  /// The text for the person when they are asked. Empty for the vault's own words.
  open var localizedReason: String {
    get { state.withLock { $0.localizedReason } }
    set { state.withLock { $0.localizedReason = newValue } }
  }

  /// The word on the button that dismisses the question; nil for the prompter's own. It is kept, and no prompt on Linux shows
  /// it.
  open var localizedCancelTitle: String? {
    get { state.withLock { $0.localizedCancelTitle } }
    set { state.withLock { $0.localizedCancelTitle = newValue } }
  }

  /// The word on the button for another way than biometry; nil for the prompter's own. The text is kept, but no prompt on Linux
  /// shows it.
  open var localizedFallbackTitle: String? {
    get { state.withLock { $0.localizedFallbackTitle } }
    set { state.withLock { $0.localizedFallbackTitle = newValue } }
  }

  /// Whether the person must not be asked. If it would be necessary, calls are `errSecInteractionNotAllowed`.
  open var interactionNotAllowed: Bool {
    get { state.withLock { $0.interactionNotAllowed } }
    set { state.withLock { $0.interactionNotAllowed = newValue } }
  }

  /// For how many seconds the person's answer for an item lets this context read that item again; 0, the default, for one read.
  /// Larger values count as ``LATouchIDAuthenticationMaximumAllowableReuseDuration``.
  ///
  /// On Linux any answer counts, a password too, and the seconds begin with it. A lock ends them. Whether the person unlocked
  /// the screen with a finger is not known here. An item of `biometryCurrentSet` asks each time.
  open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
    get { state.withLock { $0.reuseDuration } }
    set { state.withLock { $0.reuseDuration = newValue } }
  }

  /// Gives the passphrase of items with `applicationPassword`, so that the person is not asked for it.
  ///
  /// It is kept in locked memory until it is replaced or taken away, or the context is invalidated or ends; then it is erased.
  /// If the program's limit on locked memory is used up, the passphrase is kept all the same, and its first use says so on
  /// standard error. The program has to erase its own copy.
  ///
  /// - Parameters:
  ///   - credential: The passphrase; nil takes it away.
  ///   - type: ``LACredentialType/applicationPassword``.
  /// - Returns: Whether it was taken: not for another type, not empty, and not by an invalidated context.
  @discardableResult
  open func setCredential(_ credential: Data?, type: LACredentialType) -> Bool {
    guard type == .applicationPassword, credential?.isEmpty != true else { return false }
    return state.withLock { state in
      guard !state.isInvalidated else { return false }
      guard let credential else {
        state.passphrase = nil
        return true
      }
      guard let passphrase = LockedBytes(copying: credential) else { return false }
      state.passphrase = passphrase
      return true
    }
  }

  /// Whether the context has a credential.
  ///
  /// - Parameter type: ``LACredentialType/applicationPassword``; it has none of another type.
  /// - Returns: Whether a passphrase was given and is still kept.
  open func isCredentialSet(_ type: LACredentialType) -> Bool {
    type == .applicationPassword && state.withLock { $0.passphrase != nil }
  }

  /// Ends the context: its passphrase is erased, the person's answers are void, and later calls with it are `errSecAuthFailed`.
  open func invalidate() {
    // The connection is released outside of the lock, because that may take long.
    let companion = state.withLock { state in
      state.isInvalidated = true
      state.passphrase = nil
      defer { state.companion = nil }
      return state.companion
    }
    withExtendedLifetime(companion) {}
  }
}

extension LAContext: AuthenticationContext {
  package var isInvalidated: Bool { state.withLock { $0.isInvalidated } }

  package var forbidsInteraction: Bool { interactionNotAllowed }

  package var reason: String? { localizedReason.isEmpty ? nil : localizedReason }

  package var cancelTitle: String? { localizedCancelTitle }

  package var reuseDuration: Double {
    // Written so that a NaN is 0 as well.
    let wanted = touchIDAuthenticationAllowableReuseDuration
    return wanted > 0 ? min(wanted, LATouchIDAuthenticationMaximumAllowableReuseDuration) : 0
  }

  package var companion: (any AnyObject & Sendable)? {
    get { state.withLock { $0.companion } }
    set { state.withLock { if !$0.isInvalidated { $0.companion = newValue } } }
  }

  package var lockFailures: UInt64 { LockedBytes.lockFailures.load(ordering: .relaxed) }

  package func withPassphrase<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result? {
    // Not under the lock: the borrower may take long, and may call the context again.
    guard let passphrase = state.withLock({ $0.passphrase }) else { return nil }
    return withExtendedLifetime(passphrase) { body(passphrase.bytes) }
  }
}
