import LatchkeySystemd
import LatchkeyVault

/// An item that a client wants stored or changed, and that waits until it is known which fingers are enrolled. Dropping it
/// erases its secret.
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
