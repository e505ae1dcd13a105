import LatchkeySystemd
import LatchkeyVault

/// An item that a client wants stored or changed, and that waits until it is known which fingers are enrolled. Who drops it
/// drops its secret as well.
final class FingerWait {
  /// The bytes of the item that is to be stored; nil where none is.
  let size: Int?
  let call: MethodCall
  /// Stores it.
  let proceed: (FingerSet) throws(BusError) -> Void

  init(_ size: Int?, _ call: MethodCall, proceed: @escaping (FingerSet) throws(BusError) -> Void) {
    self.size = size
    self.call = call
    self.proceed = proceed
  }
}

extension SecretService {
  /// How many wait for one answer of fprintd's.
  private static let fingerWaitLimit = 64

  /// Goes on with `proceed` when it is known which fingers are enrolled; the client hears where that cannot be told.
  ///
  /// - Parameter size: the bytes of the item that waits; nil where none does.
  func whenFingersAreKnown(
    _ size: Int?, _ call: MethodCall, proceed: @escaping (FingerSet) throws(BusError) -> Void
  ) throws(BusError) {
    guard fingerWaits.count < Self.fingerWaitLimit else { throw .limitsExceeded("too many items wait for an answer") }
    if let size { try checkRoom(for: size, of: call.sender) }
    let wait = FingerWait(size, call, proceed: proceed)
    fingerWaits.append(wait)
    watch(call.sender)
    delegate.presentFingers { [weak self, weak wait] answer in
      guard let self, let wait, fingerWaits.contains(where: { $0 === wait }) else { return }
      fingerWaits.removeAll { $0 === wait }
      do throws(BusError) {
        let fingers = try BusError.vault { () throws(VaultError) in
          let fingers = try answer.get()
          // Before a person chooses a passphrase in vain.
          guard !fingers.isEmpty else { throw .noFingerEnrolled }
          return fingers
        }
        try wait.proceed(fingers)
      } catch { wait.call.fail(error) }
    }
  }

  /// What waits is not stored: the keys were erased meanwhile.
  func dropFingerWaits() {
    let dropped = fingerWaits
    fingerWaits = []
    for wait in dropped { wait.call.fail(.isLocked("it was locked meanwhile: nothing was written")) }
  }
}
