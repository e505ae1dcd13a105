import Glibc
import LatchkeyKeybag
import LatchkeyPosix

/// How long a program of one thread waits for the device key service: one limit for all requests of a turn of its event loop. After
/// a short moment, the wait ends as soon as other work comes, because this work may be a lock.
public final class TurnLimit {
  /// The number of the present turn; nil while the loop does not run yet.
  private let turn: () -> UInt64?
  /// A descriptor that is readable while other work waits.
  private let others: Int32
  private var present: UInt64?
  private var began = 0
  private var waited = 0
  /// Whether the service did not answer the last request in time.
  public var isSilent = false
  /// Whether the last wait ended because other work came.
  public var wasBrokenOff = false

  /// How long one turn may wait for a service that answers, in milliseconds.
  private static let time = 2000
  /// How long one turn waits even if other work comes, in milliseconds. It waits no longer for a service that did not answer
  /// before.
  private static let moment = 50

  /// - Parameters:
  ///   - turn: the number of the present turn of the loop; nil while it does not run yet.
  ///   - others: a descriptor that is readable while other work waits.
  public init(turn: @escaping () -> UInt64?, others: Int32) {
    self.turn = turn
    self.others = others
  }

  /// Begins a request, and returns its deadline.
  ///
  /// - Throws: ``DeviceKeyError/unavailable(_:)`` if the turn has already waited long enough.
  func begin(until deadline: Int) throws(DeviceKeyError) -> Deadline {
    let turn = turn()
    if turn != present { (present, waited) = (turn, 0) }
    began = Process.now
    let rest = (isSilent ? TurnLimit.moment : TurnLimit.time) - waited
    guard rest > 0 else { throw ServiceDeviceKey.silent }
    let end = min(deadline, began + rest)
    // Before the loop runs, there are no keys that a lock must erase, so other work need not end the wait.
    guard turn != nil else { return Deadline(end) }
    return Deadline(end, from: began + max(0, TurnLimit.moment - waited), unlessReadable: others)
  }

  /// Ends a request.
  func end() { waited += Process.now - began }
}
