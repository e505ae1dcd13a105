// swift-format-ignore-file
import LocalAuthentication

func contextCredential(_ passphrase: String) -> Bool {
  let context = LAContext()
  context.setCredential(passphrase.data(using: .utf8), type: .applicationPassword)
  context.localizedCancelTitle = "Not now"
  context.touchIDAuthenticationAllowableReuseDuration = LATouchIDAuthenticationMaximumAllowableReuseDuration
  return context.isCredentialSet(.applicationPassword)
}
