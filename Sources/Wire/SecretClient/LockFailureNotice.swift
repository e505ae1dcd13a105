import LatchkeySodium
import LatchkeySystemd
import Synchronization

/// The notice that a program gives once, if the kernel did not lock one of its secrets in memory.
public enum LockFailureNotice {
  private static let isSaid = Atomic<Bool>(false)

  /// Gives the notice, if there is a reason.
  ///
  /// - Parameter elsewhere: the number of secrets outside of `SecureBytes` that the kernel did not lock in memory.
  public static func sayIfNeeded(elsewhere: UInt64 = 0) {
    guard SecureBytes.lockFailures > 0 || elsewhere > 0, !isSaid.exchange(true, ordering: .relaxed) else { return }
    Journal.log(
      .warning,
      "a secret could not be locked in memory and may be swapped out: raise this program's limit (see 'ulimit -l')")
  }
}
