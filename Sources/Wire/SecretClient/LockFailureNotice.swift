import LatchkeySodium
import LatchkeySystemd
import Synchronization

/// The notice that a program gives, once, when the kernel did not lock one of its secrets in memory.
enum LockFailureNotice {
  private static let isSaid = Atomic<Bool>(false)

  /// Says it, where there is reason to.
  static func sayIfNeeded() {
    guard SecureBytes.lockFailures > 0, !isSaid.exchange(true, ordering: .relaxed) else { return }
    Journal.log(
      .warning,
      "a secret could not be locked in memory and may be swapped out: raise this program's limit (see 'ulimit -l')")
  }
}
