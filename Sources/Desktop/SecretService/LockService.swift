import LatchkeySystemd
import LatchkeyVault

/// `LockService`, by which clients of gnome-keyring lock everything at once. No specification has it, so introspection does not
/// show it.
extension SecretService {
  func lockService(_ call: MethodCall) throws(BusError) {
    var failure: VaultError?
    let portal = portalCollection
    for id in vault.collections where id != portal {
      // Also where it fails: keys are erased before anything is written.
      do throws(VaultError) { try vault.lockCollection(id) } catch { failure = error }
      dropGrants(of: id)
    }
    stateChanged()
    if let failure { throw BusError(failure) }
    call.reply()
  }
}
