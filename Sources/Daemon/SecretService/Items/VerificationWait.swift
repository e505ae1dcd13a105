import LatchkeySystemd

/// A write that waits until the whole database was checked. Dropping it erases its secret.
final class VerificationWait {
  /// The size of the write, in bytes.
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
