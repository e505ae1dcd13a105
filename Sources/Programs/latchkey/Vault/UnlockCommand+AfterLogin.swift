import LatchkeyGettext
import LatchkeySecretClient

extension UnlockCommand {
  /// Lets a prompt unlock the vault after a login in which nobody gave a password, if a security key can unlock it.
  ///
  /// The daemon holds the status back while the keys of a login by a password are on their way. An application that has asked
  /// already shares its prompt with this command, so a person sees one prompt.
  static func askAfterLogin(_ asking: RootKeyAsking, at place: DaemonPlace) throws {
    try RootKeyAsking.prepare()
    let status = try place.status()
    guard status.lacksPassword, status.protectors.contains(where: { ListedProtector($0).isSecurityKey }),
      let keys = try? SecurityKeyAsking(asking, status), (try? keys.look()) != nil
    else { return }
    _ = try VaultConnection(place).unlock(
      [ServiceConnection.defaultCollection], reason: translated("Nobody gave a password at your login."))
  }
}
