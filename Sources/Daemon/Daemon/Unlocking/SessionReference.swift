import Glibc
import LatchkeyControl
import LatchkeySessionState

/// The session's state, as far as the daemon knows the state already.
final class SessionReference {
  var watch: SessionWatch?
  private let unknown = SessionMachine(uid: getuid())

  var machine: SessionMachine { watch?.machine ?? unknown }

  /// Whether no key that needs a password is in memory, without a lock of the session.
  var lacksPasswordKeys: Bool { state == .sealed || machine.isOpenedWithoutPassword }

  var state: Status.State {
    switch machine.state {
    case .sealed: .sealed
    case .unlocked: .unlocked
    case .locked: .locked
    }
  }
}
