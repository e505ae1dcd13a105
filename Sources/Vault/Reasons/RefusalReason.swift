import LatchkeyText

/// Why the daemon refuses a client's request now.
public enum RefusalReason: String, ReasonGroup {
  case backupIncomplete, otherArchive, screenLocked, screenIsLocked, vaultLockedBefore, noVaultUnlocked
  case noArchiveWaits, connectionEnded, noArchiveBegun, passphraseNotGiven, noMemory, noMemoryForKey
  case vaultLockedMeanwhile, serviceEnds, noLoginPassword, vaultPutAside, cannotSeal, chunksOutOfOrder
  case otherPrompt, searchIncomplete, noGeneration, lockedBefore, noOpenVault, vaultDamaged, keysChange, vaultBusy
  case otherHistory, nothingBegun, comparisonIncomplete, restoreIncomplete, itemIsThere, vaultLocked
  case vaultIsLocked, noClientWaits, noProgramGave, loginPassword, itemNotCollection, logInFirst, paused
  case noPassphrasePrompt, noSuchPrompt, noCollectionOfName, noPassphrase, passphraseGiven, itemLockedByItself

  package static let name = "refusal"

  package var phrase: Phrase {
    switch self {
    case .backupIncomplete: Phrase("the backup is not complete")
    case .otherArchive: Phrase("another backup or restore is under way")
    case .screenLocked: Phrase("the screen is locked: unlock it first")
    case .screenIsLocked: Phrase("the screen is locked")
    case .vaultLockedBefore: Phrase("the vault is locked: run 'latchkey unlock' first")
    case .noVaultUnlocked: Phrase("no vault is unlocked: run 'latchkey unlock' first")
    case .noArchiveWaits: Phrase("no backup or restore waits for a passphrase")
    case .connectionEnded: Phrase("the connection of the backup or restore has ended")
    case .noArchiveBegun: Phrase("no backup or restore was begun")
    case .passphraseNotGiven: Phrase("its passphrase was not given")
    case .noMemory: Phrase("there is not enough memory")
    case .noMemoryForKey: Phrase("there is not enough memory for a key")
    case .vaultLockedMeanwhile: Phrase("the vault was locked meanwhile")
    case .serviceEnds: Phrase("the vault's service is ending")
    case .noLoginPassword: Phrase("your login has no password, so the vault cannot be locked. Set one with 'passwd'")
    case .vaultPutAside: Phrase("the vault was put aside")
    case .cannotSeal: Phrase("the answer cannot be sealed")
    case .chunksOutOfOrder: Phrase(verbatim: "chunks must come in their order")
    case .otherPrompt: Phrase(verbatim: "this connection already shows a prompt")
    case .searchIncomplete: Phrase("not all generations were looked at")
    case .noGeneration: Phrase("there is no generation yet: 'latchkey history make' makes one")
    case .lockedBefore: Phrase("it is locked: run 'latchkey unlock' first")
    case .noOpenVault: Phrase("no vault is in use: run 'latchkey unlock' first")
    case .vaultDamaged: Phrase("the vault is damaged; 'latchkey status' says how")
    case .keysChange: Phrase("the vault is getting new keys; try again when 'latchkey status' no longer mentions that")
    case .vaultBusy: Phrase("the vault is busy; try again")
    case .otherHistory: Phrase("another command is working with the generations; try again when it has ended")
    case .nothingBegun: Phrase("nothing was begun")
    case .comparisonIncomplete: Phrase("not everything was compared")
    case .restoreIncomplete: Phrase("not everything was looked at")
    case .itemIsThere: Phrase("the vault has such an item: delete it first")
    case .vaultLocked: Phrase("the vault is locked")
    case .vaultIsLocked: Phrase("the vault is locked. Run 'latchkey unlock' first")
    case .noClientWaits: Phrase("no client waits for that prompt")
    case .noProgramGave: Phrase("no program gave a passphrase")
    case .loginPassword: Phrase("the login password is not a passphrase")
    case .itemNotCollection: Phrase("that is an item, not a collection")
    case .logInFirst: Phrase("log in, or run 'latchkey unlock', first")
    case .paused: Phrase("after too many wrong passphrases, prompts pause for 30 seconds: try again after that")
    case .noPassphrasePrompt: Phrase("no prompt of that number asks for a passphrase")
    case .noSuchPrompt: Phrase("no such prompt")
    case .noCollectionOfName: Phrase("no collection has that name")
    case .noPassphrase: Phrase("the collection has no passphrase of its own")
    case .passphraseGiven:
      Phrase("its passphrase was given, so it is unlocked. Delete it without --forgotten-passphrase")
    case .itemLockedByItself: Phrase("an item in it was locked explicitly. Run 'latchkey unlock' first")
    }
  }
}
