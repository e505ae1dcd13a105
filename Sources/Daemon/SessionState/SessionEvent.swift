/// An event from outside the machine. Keys arrive by `SessionMachine.keysArrived`.
public enum SessionEvent: Equatable, Sendable {
  /// All sessions of all users. The whole list is sent whenever anything in it changed.
  case sessions([SessionFacts])
  /// There is no logind, so the machine counts the sessions that PAM reports.
  case logindAbsent
  /// logind asks a session to lock. This is a request, and does not prove that a locker is up.
  case lockSignal(session: String)
  /// logind asks a session to unlock. No password is involved, so this opens nothing.
  case unlockSignal(session: String)
  /// The machine goes to sleep (true), or woke up (false).
  ///
  /// Up to version 252, systemd does not say which kind of sleep comes: PrepareForSleep is the same for both, and hibernate.target
  /// starts only after the delay inhibitors have ended. So sleep only locks, and hibernation writes C to the disk.
  case prepareForSleep(Bool)
  /// The machine is known to hibernate. No source of this event is connected yet.
  case hibernate
  /// A screen saver, by its unique bus name, became active or inactive.
  case screenSaver(peer: String, active: Bool)
  /// A screen saver was active when it was asked for the first time: a lock that is older than the question.
  case screenSaverFound(peer: String)
  /// A screen saver's process left the bus.
  case screenSaverVanished(peer: String)
  /// Keys that were let in did not open the vault: its files cannot be used.
  case keysFailed
  /// There is no vault any more, because it was put aside.
  case vaultPutAside
  /// The login has no password, and the device key alone opened the vault (true); or it has one again.
  case passwordless(Bool)
  /// `latchkey lock`.
  case lockCommand
  /// A PAM stack opened a session of the user.
  case pamSessionOpened
  /// A PAM stack closed a session of the user.
  case pamSessionClosed
  /// The time limit of staged keys is over.
  case stagingTimerFired
  /// The time limit for a session to appear is over.
  case sessionTimerFired
}
