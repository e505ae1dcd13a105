import LatchkeyReasons
import LatchkeyVault

/// The collection of the secrets that sandboxed applications get by the portal.
public enum PortalCollection {
  /// The collection's alias, which must not be used to lock or change the collection.
  static let alias = "portal"
  static let label = "Flatpak apps"

  /// The collection's number; nil before the first secret, and while aliases cannot be read.
  public static func id(in vault: Vault) -> Int64? { try? vault.collections.alias(alias) }

  /// The reason why the collection cannot have a passphrase.
  public static let takesNoPassphrase = Reason.service(.portalTakesNoPassphrase)
}
