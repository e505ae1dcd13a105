import LatchkeyText

/// The reasons why the vault is locked, and why keys or a program are refused.
public enum SessionReason: String, ReasonGroup {
  case lockedHint, lockSignal, screenSaver, greeter, graphicalSessionEnded, sleep, command, loginWithoutPassword
  case notUnlockedYet, lastSessionEnded, noSessionAfterLogin, filesUnusable, hibernation, putAside, logind
  case screenSavers, unlockScreen, remoteLogin, processOfNoSession, notOfSession, otherUsersSession, remoteSession
  case liftsNoLock, lockedMeanwhile, sessionEnded, goingToSleep, daemonEnds, daemonStarts, notStarted, noLogind
  case notNow, alreadyUnlocked, unlocksNothing, waitsForPassword

  package static let name = "session"

  package var phrase: Phrase {
    switch self {
    case .lockedHint: Phrase("screen locked (LockedHint)")
    case .lockSignal: Phrase("screen locked (Lock signal)")
    case .screenSaver: Phrase("screen locked (screen saver)")
    case .greeter: Phrase("session behind the greeter")
    case .graphicalSessionEnded: Phrase("graphical session ended")
    case .sleep: Phrase("sleep")
    case .command: Phrase(verbatim: "command")
    case .loginWithoutPassword: Phrase("login without a password")
    case .notUnlockedYet: Phrase("not unlocked yet")
    case .lastSessionEnded: Phrase("last session ended")
    case .noSessionAfterLogin: Phrase("no session after login")
    case .filesUnusable: Phrase("the vault's files cannot be used")
    case .hibernation: Phrase("hibernation")
    case .putAside: Phrase("the vault was put aside; the next login creates another one")
    case .logind: Phrase(verbatim: "logind")
    case .screenSavers: Phrase("screen savers on the bus")
    case .unlockScreen: Phrase("unlock the screen instead")
    case .remoteLogin: Phrase("a remote login does not lift a lock")
    case .processOfNoSession: Phrase("a process of no session")
    case .notOfSession: Phrase("not a process of a session")
    case .otherUsersSession: Phrase("a process of another user's session")
    case .remoteSession: Phrase("a remote session does not lift a lock")
    case .liftsNoLock: Phrase("this login does not lift a lock")
    case .lockedMeanwhile: Phrase("it was locked meanwhile")
    case .sessionEnded: Phrase("its session has ended")
    case .goingToSleep: Phrase("the machine is going to sleep")
    case .daemonEnds: Phrase("the daemon is ending")
    case .daemonStarts: Phrase("the daemon is starting")
    case .notStarted: Phrase("not started")
    case .noLogind: Phrase("logind does not answer")
    case .notNow: Phrase("not now")
    case .alreadyUnlocked: Phrase("it is already unlocked")
    case .unlocksNothing: Phrase("this login unlocks nothing")
    case .waitsForPassword: Phrase("new keys wait for the password")
    }
  }
}
