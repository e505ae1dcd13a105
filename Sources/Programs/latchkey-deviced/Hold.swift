import Glibc
import LatchkeyDeviceService
import LatchkeyDeviceStore
import LatchkeyFingerReaders
import LatchkeySystemd

/// One user's covering key, the connection that gets it after a touch, and the verification that is under way.
final class Hold {
  /// An expected finger, and the connection that hears of the finger.
  struct Awaited {
    let verification: FingerVerification
    unowned let peer: DevicePeer
    /// The number of the touch that the holder's own prompt awaits; nil if a locker awaits the touch.
    let touch: UInt32?
    /// Watches whether the user of a touch stays in front of a seat; nil for a locker.
    let seat: LoginMonitor?
    /// False until the reader is back from an earlier verification.
    var hasStarted = false
  }

  let user: uid_t
  /// The login name, by which fprintd and its files know the user.
  let name: String
  let key: CoveringKey
  unowned let holder: DevicePeer
  var awaited: Awaited?
  /// How long the machine had slept when the key came, in milliseconds.
  private let asleep = Sleep.asleep

  /// The difference of two clocks that is no sleep yet, in milliseconds. The clocks are read one after the other, so they always
  /// differ a little.
  private static let clockTolerance = 100

  init(_ key: CoveringKey, of user: uid_t, name: String, holder: DevicePeer) {
    (self.user, self.name, self.key, self.holder) = (user, name, key, holder)
  }

  /// Whether the machine has slept since the key came.
  var hasSlept: Bool { Sleep.asleep - asleep > Hold.clockTolerance }

  /// The state that others see. It leaves out a prompt's verification, because a locker may take the reader from a prompt.
  var state: HoldPacket.State {
    if let awaited, awaited.touch == nil { return .verifying }
    return key.isInMemory ? .inMemory : .inTPM
  }
}
