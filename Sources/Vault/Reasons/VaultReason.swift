import LatchkeyText

/// Why the vault refuses a request, and the damage of its database.
public enum VaultReason: String, ReasonGroup {
  case locked, lockedByItself, noSuchItem, noSuchCollection, unknownControlAttribute, tooLarge, notCreated
  case systemAccount, diskFull, otherDevice, needsGrant, keepsItsAccess, duplicate, noPasscode, deviceMissing
  case noMemory, unknownFlag, orWithAnd, bothBiometries, presenceWithOthers, nothingToCombine, inUse, readOnly
  case fileMissing, moved, cutOff, copyDamaged, copyUnreadable, tablesDiffer, otherKeybag, notDatabase, notVault
  case headerDamaged, truncated, noVaultRow, counterDamaged, numberDamaged, classKeyAlone, foreignDeviceRow
  case labelUnreadable, passphraseDamaged, indexDamaged, indexOfNoItem, logAtEnd, classKey, collectionPassphrase
  case indexKey, itemLabel, itemKey, storedWhileLocked, itemSecret, collectionLabel, notTogether, hasPassword
  case loginHasNone, stillChecked, nothingFound, generationDoesNotOpen, cannotHeal, healedNotInPlace
  case unlockToTryAgain, otherWriter, mayMissItems, noGenerationMade, seeManual, lockIsHeld, nextUnlockTries

  package static let name = "vault"

  package var phrase: Phrase {
    switch self {
    case .locked: Phrase("it is locked")
    case .lockedByItself: Phrase("it was locked explicitly: run 'latchkey unlock'")
    case .noSuchItem: Phrase("there is no such item")
    case .noSuchCollection: Phrase("there is no such collection")
    case .unknownControlAttribute:
      Phrase("the only attributes that begin with latchkey: are latchkey:accessible and latchkey:require")
    case .tooLarge: Phrase("it is too large for the vault")
    case .notCreated: Phrase("there is no vault yet: 'latchkey unlock', or a login with your password, creates it")
    case .systemAccount: Phrase("root and system accounts get no vault")
    case .diskFull: Phrase("the disk is full")
    case .otherDevice: Phrase("it was stored on another device")
    case .needsGrant: Phrase("it has requirements: 'latchkey get' asks you to meet them, and so do other programs")
    case .keepsItsAccess:
      Phrase("writing an item changes neither its requirements nor its class; 'latchkey edit' changes them")
    case .duplicate: Phrase("an item with these attributes already exists")
    case .noPasscode:
      Phrase("your login has no password, which when-passcode-set-this-device-only needs: set one, and log in again")
    case .deviceMissing: Phrase("it is bound to a device, and the device key cannot be used now")
    case .noMemory: Phrase("there is not enough memory")
    case .unknownFlag: Phrase("unknown access control flag")
    case .orWithAnd: Phrase("'or' and 'and' cannot be combined")
    case .bothBiometries: Phrase("biometry-any and biometry-current-set cannot be combined")
    case .presenceWithOthers: Phrase("user-presence can only be combined with application-password")
    case .nothingToCombine: Phrase("'or' and 'and' need a condition to combine")
    case .inUse: Phrase("another process uses it")
    case .readOnly: Phrase("it is on a read-only file system")
    case .fileMissing: Phrase("the file is missing")
    case .moved: Phrase("it was moved or removed, so nothing is stored until it is back or you log out and in again")
    case .cutOff: Phrase("it was cut off")
    case .copyDamaged: Phrase("the copy is damaged")
    case .copyUnreadable: Phrase("the copy cannot be read again")
    case .tablesDiffer: Phrase("its tables are not those of a vault")
    case .otherKeybag: Phrase("it belongs to another keybag")
    case .notDatabase: Phrase("the file is not a database")
    case .notVault: Phrase("the file is not a vault's database")
    case .headerDamaged: Phrase("the file's header is damaged")
    case .truncated: Phrase("the file is truncated")
    case .noVaultRow: Phrase("table vault is empty")
    case .counterDamaged: Phrase("a counter is damaged")
    case .numberDamaged: Phrase("a number is damaged")
    case .classKeyAlone: Phrase("a class key belongs to no collection")
    case .foreignDeviceRow: Phrase("a row of table device is not the vault's")
    case .labelUnreadable: Phrase("an item's label cannot be read")
    case .passphraseDamaged: Phrase("a collection's passphrase is damaged")
    case .indexDamaged: Phrase("the index of the items is damaged")
    case .indexOfNoItem: Phrase("the index leads to an item that is not there")
    case .logAtEnd: Phrase("the access log has reached its end")
    case .classKey: Phrase("a class key")
    case .collectionPassphrase: Phrase("a collection's passphrase")
    case .indexKey: Phrase("the index key")
    case .itemLabel: Phrase("an item's label")
    case .itemKey: Phrase("an item key")
    case .storedWhileLocked: Phrase("an item stored while locked")
    case .itemSecret: Phrase("an item's secret")
    case .collectionLabel: Phrase("a collection's label")
    case .notTogether: Phrase("keybag and vault.db do not belong together")
    case .hasPassword: Phrase("the vault has a password")
    case .loginHasNone: Phrase("the login unlocks the login collection, so it has no passphrase")
    case .stillChecked: Phrase("the vault is still being checked; try again in a moment")
    case .nothingFound: Phrase("no item can be found until the vault is unlocked")
    case .generationDoesNotOpen: Phrase("the generation does not open")
    case .cannotHeal: Phrase("it cannot be repaired")
    case .healedNotInPlace: Phrase("the repaired database cannot take its place")
    case .unlockToTryAgain: Phrase("run 'latchkey unlock' to try again")
    case .otherWriter: Phrase("another process writes the vault's files")
    case .mayMissItems: Phrase("items stored since then may be missing, and deleted ones may be back")
    case .noGenerationMade: Phrase("no generation of the vault was made")
    case .seeManual: Phrase("'man latchkey-history' says how to put a generation in its place")
    case .lockIsHeld: Phrase("it cannot be repaired now, as another process has keybag.lock")
    case .nextUnlockTries: Phrase("the next unlock tries again")
    }
  }
}
