import Foundation
import LatchkeyLocalAuthentication
import Testing

@testable import LatchkeySecurity

@Suite("Contexts")
struct ContextTests {
  private let keychain = Keychain()

  /// Tells how the store must ask the person, according to a query.
  private func told(_ more: [CFString: Any]) -> Authentication? {
    #expect(keychain.status(Keychain.password("anna", more)) == errSecItemNotFound)
    return keychain.store.authentication
  }

  private func passphrase(_ context: LAContext) -> [UInt8]? {
    context.withPassphrase { bytes in bytes.withUnsafeBytes { Array($0) } }
  }

  @Test("Whether the person may be asked, for each way to say it")
  func interaction() {
    let context = LAContext()
    #expect(told([:])?.interaction == .allowed)
    #expect(told([kSecUseAuthenticationUI: kSecUseAuthenticationUIAllow])?.interaction == .allowed)
    #expect(told([kSecUseAuthenticationUI: kSecUseAuthenticationUIFail])?.interaction == .forbidden)
    #expect(told([kSecUseAuthenticationUI: kSecUseAuthenticationUISkip])?.interaction == .skipped)
    #expect(told([kSecUseNoAuthenticationUI: true])?.interaction == .forbidden)
    #expect(told([kSecUseNoAuthenticationUI: false])?.interaction == .allowed)
    let both: [CFString: Any] = [
      kSecUseNoAuthenticationUI: true, kSecUseAuthenticationUI: kSecUseAuthenticationUISkip,
    ]
    #expect(told(both)?.interaction == .skipped)
    #expect(told([kSecUseAuthenticationContext: context])?.interaction == .allowed)
    context.interactionNotAllowed = true
    #expect(told([kSecUseAuthenticationContext: context])?.interaction == .forbidden)
    let skipping: [CFString: Any] = [
      kSecUseAuthenticationContext: context, kSecUseAuthenticationUI: kSecUseAuthenticationUISkip,
    ]
    #expect(told(skipping)?.interaction == .skipped)
  }

  @Test("The person reads the context's words before the query's words")
  func reason() {
    let context = LAContext()
    #expect(told([:])?.reason == nil)
    #expect(told([kSecUseOperationPrompt: "Pay"])?.reason == "Pay")
    #expect(told([kSecUseOperationPrompt: "Pay", kSecUseAuthenticationContext: context])?.reason == "Pay")
    context.localizedReason = "Sign in"
    context.localizedCancelTitle = "Not now"
    let authentication = told([kSecUseOperationPrompt: "Pay", kSecUseAuthenticationContext: context])
    #expect(authentication?.reason == "Sign in")
    #expect(authentication?.context?.cancelTitle == "Not now")
    #expect(authentication?.context === context)
  }

  @Test("A program catches an error by its name, and keeps a title that no prompt shows")
  func ported() {
    let context = LAContext()
    context.localizedFallbackTitle = ""
    #expect(context.localizedFallbackTitle == "")
    func isCancelled(_ error: any Error) -> Bool {
      do { throw error } catch LAError.userCancel, LAError.appCancel { return true } catch { return false }
    }
    #expect(isCancelled(LAError(.userCancel)) && isCancelled(LAError(LAError.appCancel)))
    #expect(!isCancelled(LAError(.userFallback)) && !isCancelled(CocoaError(.fileNoSuchFile)))
  }

  @Test("A context keeps its identity through a dictionary, and the store gets it")
  func identity() {
    let context = LAContext()
    #expect(keychain.add(Keychain.password("anna", [kSecUseAuthenticationContext: context])) == errSecSuccess)
    #expect(keychain.store.authentication?.context === context)
    #expect(
      keychain.update(Keychain.password("anna", [kSecUseAuthenticationContext: LAContext()]), [kSecAttrLabel: "x"])
        == errSecSuccess)
    #expect(keychain.store.authentication?.context !== context)
  }

  @Test("A passphrase stays until it is replaced, removed, or the context ends")
  func credential() {
    let context = LAContext()
    #expect(!context.isCredentialSet(.applicationPassword))
    #expect(passphrase(context) == nil)
    #expect(context.setCredential(Data("one".utf8), type: .applicationPassword))
    #expect(context.isCredentialSet(.applicationPassword))
    #expect(!context.isCredentialSet(.smartCardPIN))
    #expect(passphrase(context) == Array("one".utf8))
    #expect(passphrase(context) == Array("one".utf8))
    #expect(context.setCredential(Data("another".utf8), type: .applicationPassword))
    #expect(passphrase(context) == Array("another".utf8))
    #expect(!context.setCredential(Data("1234".utf8), type: .smartCardPIN))
    #expect(!context.setCredential(Data(), type: .applicationPassword))
    #expect(passphrase(context) == Array("another".utf8))
    #expect(context.setCredential(nil, type: .applicationPassword))
    #expect(!context.isCredentialSet(.applicationPassword))
    #expect(context.setCredential(Data([0, 0xff]), type: .applicationPassword))
    #expect(passphrase(context) == [0, 0xff])
    context.invalidate()
    #expect(!context.isCredentialSet(.applicationPassword))
    #expect(!context.setCredential(Data("one".utf8), type: .applicationPassword))
    #expect(passphrase(context) == nil)
  }

  @Test("Values that the store keeps with a context end with the context")
  func companion() {
    final class Kept: Sendable {}
    let context = LAContext()
    weak var kept: Kept?
    func keep() {
      let new = Kept()
      context.companion = new
      kept = new
    }
    keep()
    #expect(kept != nil && context.companion === kept)
    context.invalidate()
    #expect(kept == nil)
    keep()
    #expect(kept == nil && context.companion == nil)
  }

  @Test("An invalidated context opens nothing")
  func invalidated() {
    let context = LAContext()
    context.invalidate()
    let query = Keychain.password("anna", [kSecUseAuthenticationContext: context])
    #expect(keychain.status(query) == errSecAuthFailed)
    #expect(keychain.add(query) == errSecAuthFailed)
    #expect(keychain.delete(query) == errSecAuthFailed)
  }

  @Test("Reuse is bounded")
  func reuse() {
    let context = LAContext()
    #expect(LATouchIDAuthenticationMaximumAllowableReuseDuration == 300)
    for (set, counts) in [(10, 10), (300, 300), (301, 300), (.infinity, 300), (-5, 0), (.nan, 0)] as [(Double, Double)]
    {
      context.touchIDAuthenticationAllowableReuseDuration = set
      #expect(context.reuseDuration == counts)
    }
  }

  @Test("A subclass of a program answers for itself")
  func subclass() {
    final class Silent: LAContext, @unchecked Sendable {
      override var interactionNotAllowed: Bool {
        get { true }
        set {}
      }
    }
    #expect(told([kSecUseAuthenticationContext: Silent()])?.interaction == .forbidden)
  }

  @Test("Errors have Apple's numbers")
  func errors() {
    let table: [(code: LAError.Code, number: Int)] = [
      (.authenticationFailed, -1), (.userCancel, -2), (.userFallback, -3), (.systemCancel, -4), (.passcodeNotSet, -5),
      (.biometryNotAvailable, -6), (.touchIDNotAvailable, -6), (.biometryNotEnrolled, -7), (.touchIDNotEnrolled, -7),
      (.biometryLockout, -8), (.touchIDLockout, -8), (.appCancel, -9), (.invalidContext, -10),
      (.companionNotAvailable, -11), (.watchNotAvailable, -11), (.biometryNotPaired, -12),
      (.biometryDisconnected, -13), (.invalidDimensions, -14), (.notInteractive, -1004),
    ]
    for (code, number) in table {
      let error = LAError(code) as NSError
      #expect(error.code == number)
      #expect(error.domain == "com.apple.LocalAuthentication")
    }
    #expect(LACredentialType.applicationPassword.rawValue == 0)
    #expect(LACredentialType.smartCardPIN.rawValue == -3)
  }
}
