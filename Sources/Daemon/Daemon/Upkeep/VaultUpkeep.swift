import LatchkeyKeybag
import LatchkeyReasons
import LatchkeySecretService
import LatchkeySystemd
import LatchkeyVault

/// Works while the vault is idle, and reports to the journal and to clients. It verifies the whole database, wraps items that were
/// stored while locked, wraps all keys again after a rotation, and makes generations.
final class VaultUpkeep {
  private let vault: Vault
  private let presence: BusPresence
  private let history: HistoryKeeper
  private var idle: EventSource?
  private var settling: EventSource?
  /// The vault's problems that are in the journal already.
  private var toldProblems: Set<Reason> = []
  /// Whether the end of the last verification was reported.
  private var isVerificationTold = false

  /// The time for which the vault must be quiet before its log is emptied.
  static let settleTime = Duration.seconds(20)

  init(_ vault: Vault, presence: BusPresence, history: HistoryKeeper) {
    self.vault = vault
    self.presence = presence
    self.history = history
  }

  /// Starts to work.
  ///
  /// - Parameter settled: called each time that the vault has been quiet for ``settleTime``.
  func start(on loop: EventLoop, settled: @escaping () -> Void) throws(SystemdError) {
    idle = try loop.addIdle { [weak self] in self?.turn() ?? false }
    settling = try loop.addTimer(after: VaultUpkeep.settleTime, repeating: true) { [weak self] in
      guard let self else { return }
      vault.accessLog.write()
      vault.settle()
      settled()
      // Continues the work that a full disk stopped.
      if vault.rotation.isUnderWay || history.hasWork { goOn() }
    }
  }

  /// Continues the long work.
  func goOn() { idle?.resume() }

  /// Does one small piece of work.
  ///
  /// - Returns: whether there is more.
  private func turn() -> Bool {
    vault.accessLog.write()
    if !vault.isVerified {
      isVerificationTold = false
      if vault.verifyStep() { return true }
    }
    // A restore or a comparison may have made the last step, and calls that wait for it need their answers.
    presence.service?.verificationEnded()
    if !isVerificationTold {
      isVerificationTold = true
      tellProblems()
      // The work that an unlock left for later, such as the move of a device key, is done at once. The next turn is twenty seconds
      // away.
      vault.settle()
    }
    do throws(VaultError) {
      if try vault.writer.rewrapStoredWhileLocked() { return true }
      if try vault.rotation.step() { return true }
    } catch { return false }
    return history.work()
  }

  /// Logs the problems of the vault's files, each once. A request that only waits for other work of this program is not a problem.
  func tellProblems() {
    for problem in vault.problems where !problem.isBrokenOff {
      if toldProblems.insert(problem).inserted { Journal.log(.error, problem.text) }
    }
  }

  /// Tells clients and the journal which items were destroyed.
  @discardableResult
  func tellDestroyed() -> Int {
    let destroyed = vault.passcode.takeDestroyed()
    guard !destroyed.isEmpty else { return 0 }
    Journal.log(
      .warning,
      "destroyed for good, as they depend on a password of the login's: \(destroyed.count) items of class "
        + AccessibilityClass.whenPasscodeSetThisDeviceOnly.name)
    presence.service?.deleted(destroyed)
    // The items must leave the log too, at once and not only when the vault is quiet.
    vault.settle()
    return destroyed.count
  }
}
