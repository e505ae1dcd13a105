@_exported public import Foundation
@_exported public import LatchkeySecurity
import Synchronization

/// Says how the person is asked for an item, and holds the answers that the program gives. It is the value of
/// `kSecUseAuthenticationContext`.
///
/// On Linux it has only the functions that items need. The item's access control and the vault decide whether a finger or a
/// password is required, and how the person is asked. A context asks nobody by itself.
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

  /// The text that the person reads in a prompt. If it is empty, the vault's own words appear.
  open var localizedReason: String {
    get { state.withLock { $0.localizedReason } }
    set { state.withLock { $0.localizedReason = newValue } }
  }

  /// The word on the button that dismisses the question; nil for the prompter's own word. The text is kept, but no prompt on Linux
  /// shows it.
  open var localizedCancelTitle: String? {
    get { state.withLock { $0.localizedCancelTitle } }
    set { state.withLock { $0.localizedCancelTitle = newValue } }
  }

  /// The word on the button for another way than biometry; nil for the prompter's own word. The text is kept, but no prompt on
  /// Linux shows it.
  open var localizedFallbackTitle: String? {
    get { state.withLock { $0.localizedFallbackTitle } }
    set { state.withLock { $0.localizedFallbackTitle = newValue } }
  }

  /// Whether the person must not be asked. A call that needs an answer then returns `errSecInteractionNotAllowed`.
  open var interactionNotAllowed: Bool {
    get { state.withLock { $0.interactionNotAllowed } }
    set { state.withLock { $0.interactionNotAllowed = newValue } }
  }

  /// The seconds for which this context can read the item again after the person's answer. With 0, the default, an answer is for
  /// one read. Larger values count as ``LATouchIDAuthenticationMaximumAllowableReuseDuration``.
  ///
  /// On Linux any answer counts, even a password, and the time begins with the answer. A lock ends the time. An unlock of the
  /// screen with a finger does not count as an answer. An item of `biometryCurrentSet` asks each time.
  open var touchIDAuthenticationAllowableReuseDuration: TimeInterval {
    get { state.withLock { $0.reuseDuration } }
    set { state.withLock { $0.reuseDuration = newValue } }
  }

  /// Gives the passphrase of items with `applicationPassword`, so that the person need not type it.
  ///
  /// The passphrase stays in locked memory until it is replaced or removed, or until the context is invalidated or freed. Then it
  /// is erased. If the program's limit of locked memory is used up, the passphrase is kept in ordinary memory, and its first use
  /// says so on standard error. The program itself has to erase its own copy.
  ///
  /// - Parameters:
  ///   - credential: The passphrase; nil removes it.
  ///   - type: ``LACredentialType/applicationPassword``.
  /// - Returns: Whether the context accepted the passphrase. It refuses another type, an empty passphrase, and any passphrase after
  ///   it was invalidated.
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
  /// - Parameter type: ``LACredentialType/applicationPassword``; a context never has another type.
  /// - Returns: Whether the context has a passphrase.
  open func isCredentialSet(_ type: LACredentialType) -> Bool {
    type == .applicationPassword && state.withLock { $0.passphrase != nil }
  }

  /// Ends the context: its passphrase is erased, the person's answers are void, and later calls with the context return
  /// `errSecAuthFailed`.
  open func invalidate() {
    // The connection is released after the lock, because releasing it may take long.
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
    // The comparison is written so that NaN also gives 0.
    let wanted = touchIDAuthenticationAllowableReuseDuration
    return wanted > 0 ? min(wanted, LATouchIDAuthenticationMaximumAllowableReuseDuration) : 0
  }

  package var companion: (any AnyObject & Sendable)? {
    get { state.withLock { $0.companion } }
    set { state.withLock { if !$0.isInvalidated { $0.companion = newValue } } }
  }

  package var lockFailures: UInt64 { LockedBytes.lockFailures.load(ordering: .relaxed) }

  package func withPassphrase<Result>(_ body: (RawSpan) -> Result) -> Result? {
    // `body` runs outside of the lock, because it may take long, and may call the context again.
    guard let passphrase = state.withLock({ $0.passphrase }) else { return nil }
    return withExtendedLifetime(passphrase) { body(passphrase.bytes.bytes) }
  }
}
