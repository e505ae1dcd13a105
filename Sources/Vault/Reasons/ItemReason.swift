import LatchkeyText

/// Why an item or a collection is not kept, restored or exported, and other notes in a report.
public enum ItemReason: String, ReasonGroup {
  case collectionDeletedProtected, collectionDeletedWaiting, collectionDeletedGone, collectionLocked
  case passphraseNotGiven, labelDamaged, collectionLockedMeanwhile, requirements, noDeviceKey, unlockToBringBack
  case wouldComeBack, isBack, movedToOther, classKeysGone, otherSecret, changedSince, nobodyAsked, presentIsLocked
  case generationTooLarge, backupTooLarge, newKeysMeanwhile, collectionGoneMeanwhile, collectionCreatedMeanwhile
  case collectionDeletedMeanwhile, collectionLockedByProgram, deletedLostKeys, changedMeanwhile, storedMeanwhile
  case needsDeviceKey, againWhenUsable, againWhenUnlocked, tightened, collectionLockedByItself, collectionWaits
  case destroyed, hereLocked, hereWaits, impossibleCollection, labelTooLong, collectionStays, itsCollectionStays
  case collectionIsNew, passphraseIsGone, otherDeviceOrAccount, doesNotOpen, labelUnreadable, tooLarge, impossible
  case hasRequirements, noClassKey, presentUnreadable

  package static let name = "item"

  package var phrase: Phrase {
    switch self {
    case .collectionDeletedProtected:
      Phrase("its collection was deleted, and a collection with a passphrase of its own does not come back")
    case .collectionDeletedWaiting: Phrase("its collection was deleted, and comes back only with your login password")
    case .collectionDeletedGone: Phrase("its collection was deleted, and the collection's keys are gone")
    case .collectionLocked: Phrase("the collection is locked explicitly")
    case .passphraseNotGiven: Phrase("its passphrase was not given")
    case .labelDamaged: Phrase("its label is damaged")
    case .collectionLockedMeanwhile: Phrase("its collection was locked meanwhile")
    case .requirements: Phrase("its requirements keep it out of backups")
    case .noDeviceKey: Phrase("this device has no key")
    case .unlockToBringBack:
      Phrase("the collection was deleted; to bring it back, run 'latchkey unlock', then this command again")
    case .wouldComeBack: Phrase("the collection was deleted, and would come back")
    case .isBack: Phrase("the collection was deleted, and is back")
    case .movedToOther: Phrase("it is in another collection now")
    case .classKeysGone: Phrase("the keys of its class are gone")
    case .otherSecret: Phrase("an item with the same attributes and another secret is there")
    case .changedSince: Phrase("it was changed since")
    case .nobodyAsked: Phrase("an item with requirements is not replaced, because nobody was asked")
    case .presentIsLocked: Phrase("the item that is there now is locked")
    case .generationTooLarge: Phrase("the generation is larger than the memory that this machine can spare")
    case .backupTooLarge: Phrase("the backup is larger than the memory that this machine can spare")
    case .newKeysMeanwhile: Phrase("the vault was given new keys meanwhile; run the command again")
    case .collectionGoneMeanwhile: Phrase("a program locked or deleted a collection meanwhile; run the command again")
    case .collectionCreatedMeanwhile: Phrase("a program created a collection meanwhile; run the command again")
    case .collectionDeletedMeanwhile: Phrase("a program deleted a collection meanwhile; run the command again")
    case .collectionLockedByProgram: Phrase("a program locked a collection meanwhile; run the command again")
    case .deletedLostKeys: Phrase("a deleted collection has lost keys")
    case .changedMeanwhile: Phrase("a program changed it meanwhile")
    case .storedMeanwhile: Phrase("a program stored an item with the same attributes meanwhile")
    case .needsDeviceKey: Phrase("bringing back deleted collections requires the device key")
    case .againWhenUsable: Phrase("run the command again when it can be used")
    case .againWhenUnlocked: Phrase("run the command again when 'latchkey status' shows the vault unlocked")
    case .tightened: Phrase("it was protected better when it was deleted than in this generation")
    case .collectionLockedByItself: Phrase("its collection is locked explicitly")
    case .collectionWaits: Phrase("the passphrase of its collection was not given")
    case .destroyed: Phrase("it was destroyed for good with the password that it depended on")
    case .hereLocked: Phrase("its collection here is locked explicitly")
    case .hereWaits: Phrase("its collection here waits for its passphrase")
    case .impossibleCollection: Phrase("no program could have made it")
    case .labelTooLong: Phrase("its label is too long for a vault")
    case .collectionStays: Phrase("the collection stays behind")
    case .itsCollectionStays: Phrase("its collection stays behind")
    case .collectionIsNew: Phrase("the collection is new here")
    case .passphraseIsGone: Phrase("the collection had a passphrase of its own, and has none here until you set one")
    case .otherDeviceOrAccount: Phrase("it belongs to another device or account")
    case .doesNotOpen: Phrase("it does not open with this device's key")
    case .labelUnreadable: Phrase("its label cannot be read")
    case .tooLarge: Phrase("it is too large for a vault")
    case .impossible: Phrase("no program could have stored it")
    case .hasRequirements: Phrase("no backup has items with requirements")
    case .noClassKey: Phrase("this device has no key for its class")
    case .presentUnreadable: Phrase("an item with the same attributes is there, and cannot be read now")
    }
  }
}
