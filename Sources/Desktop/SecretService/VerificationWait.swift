import LatchkeySystemd
import LatchkeyVault

/// A write that a client wants, and that waits until the whole database was looked at. Who drops it drops its secret as well.
final class VerificationWait {
  /// The bytes of what is to be written.
  let size: Int
  let call: MethodCall
  /// Writes it.
  let write: () throws(BusError) -> Void

  init(_ size: Int, _ call: MethodCall, write: @escaping () throws(BusError) -> Void) {
    self.size = size
    self.call = call
    self.write = write
  }
}

extension SecretService {
  /// How many writes of one client, and of all, may wait for the database. More than may wait for a person: a program that
  /// starts with the session may bring many at once, and none of them waits for long.
  private static let verificationWaitLimit = (own: 64, all: 256)

  /// Writes when the whole database was looked at: at once, where it was.
  func whenVerified(
    _ size: Int, _ call: MethodCall, write: @escaping () throws(BusError) -> Void
  ) throws(BusError) {
    guard !vault.isVerified else { return try write() }
    let own = verificationWaits.count { $0.call.sender == call.sender }
    guard own < Self.verificationWaitLimit.own, verificationWaits.count < Self.verificationWaitLimit.all else {
      throw .limitsExceeded("too many items wait until the database was looked at")
    }
    try checkRoom(for: size, of: call.sender)
    let wait = VerificationWait(size, call, write: write)
    verificationWaits.append(wait)
    watch(call.sender)
    whenVerified { [weak self, weak wait] in
      guard let self, let wait, verificationWaits.contains(where: { $0 === wait }) else { return }
      verificationWaits.removeAll { $0 === wait }
      do throws(BusError) { try wait.write() } catch { wait.call.fail(error) }
    }
  }

  /// What waits is not written: the keys were erased meanwhile.
  func dropVerificationWaits() {
    let dropped = verificationWaits
    verificationWaits = []
    for wait in dropped { wait.call.fail(.isLocked("it was locked meanwhile: nothing was written")) }
  }
}
