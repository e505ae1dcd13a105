import Glibc
import LatchkeyKeybag
import LatchkeyPosix

/// The place and the owner of a vault's files. The home is empty for a vault in memory.
struct VaultPlace {
  /// The home folder with the files below it.
  let home: String
  /// The owner of the files.
  let owner: uid_t
  /// 16 bytes of this machine's identity, or nil.
  let machine: [UInt8]?
  /// Gets the device key of the system service; nil without that service.
  let service: DeviceKeyService
  /// The name of the database's file.
  var databaseName = KeybagFile.database

  /// A vault in memory only.
  static var memory: VaultPlace { VaultPlace(home: "", owner: 0, machine: nil, service: { nil }, databaseName: "") }

  /// The place, with another name for the database.
  func withDatabase(_ name: String) -> VaultPlace {
    var place = self
    place.databaseName = name
    return place
  }

  /// Whether the vault is in memory only, without files.
  var isMemory: Bool { home.isEmpty }

  /// Whether the database is the vault's own, and not one that is being healed.
  var hasOwnDatabase: Bool { databaseName == KeybagFile.database }

  /// The folder of the vault.
  var path: String { KeybagFile.folderPath(home: home) }

  /// The file of the database.
  var databasePath: String { path + "/" + databaseName }

  func folder() throws(KeybagError) -> Folder { try KeybagFile.folder(home: home, owner: owner) }

  /// The folder. Throws the reason if it cannot be used.
  func openFolder() throws(VaultError) -> Folder {
    do throws(KeybagError) { return try folder() } catch {
      throw .unavailable(.of(.folder, error.reason))
    }
  }
}
