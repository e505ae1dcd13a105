import LatchkeySystemd
import LatchkeyVault

/// An item that a client wants to store or change, and that waits until the enrolled fingers are known. Dropping it erases its
/// secret.
final class FingerWait {
  /// The size of the item to store, in bytes; nil if there is none.
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
