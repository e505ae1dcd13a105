import LatchkeyText

/// Why the Secret Service refuses a client's request.
public enum ServiceReason: String, ReasonGroup {
  case noSession, noSuchObject, locked, diskFull, seeStatus, portalAlias, sessionCollectionStays, sessionItems
  case portalItems, sessionNeverLocked, portalNeverLocked, takesNoPassword, sessionHasNoPassword, manyWaitForCheck
  case manyWaitForAnswer, lockedMeanwhile, portalTakesNoPassphrase

  package static let name = "service"

  package var phrase: Phrase {
    switch self {
    case .noSession: Phrase("that session does not exist, or is not yours")
    case .noSuchObject: Phrase("there is no object at that path")
    case .locked: Phrase("it is locked: unlock the session with your password")
    case .diskFull: Phrase("the disk is full: nothing was stored")
    case .seeStatus: Phrase("see `latchkey status`")
    case .portalAlias: Phrase("the alias portal is made by Latchkey")
    case .sessionCollectionStays: Phrase("the session collection cannot be deleted")
    case .sessionItems: Phrase("session items have no requirements")
    case .portalItems: Phrase("items of the portal's collection have no requirements")
    case .sessionNeverLocked: Phrase("the session collection is never locked")
    case .portalNeverLocked: Phrase("the collection of sandboxed applications cannot be locked by itself")
    case .takesNoPassword:
      Phrase("Latchkey takes no password from programs: it asks you itself. Use Unlock, or 'latchkey passphrase'")
    case .sessionHasNoPassword: Phrase("the session collection is in memory only, and has no password")
    case .manyWaitForCheck: Phrase("too many items wait for the check of the database")
    case .manyWaitForAnswer: Phrase("too many items wait for an answer")
    case .lockedMeanwhile: Phrase("it was locked meanwhile: nothing was written")
    case .portalTakesNoPassphrase:
      Phrase(
        """
        sandboxed applications keep their secrets in this collection, and would hang until you give a passphrase, so \
        it can have none
        """)
    }
  }
}
