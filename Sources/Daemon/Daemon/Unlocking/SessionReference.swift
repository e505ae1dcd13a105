import Glibc
import LatchkeyControl
import LatchkeySessionState

/// The session's state; the state of a sealed vault until the session is watched.
final class SessionReference {
  var watch: SessionWatch?
  private let unknown = SessionMachine(uid: getuid())

  var machine: SessionMachine { watch?.machine ?? unknown }

  /// Whether the keys of a password are missing for another reason than a lock of the session.
  var lacksPasswordKeys: Bool { state == .sealed || machine.isOpenedWithoutPassword }

  var state: Status.State {
    switch machine.state {
    case .sealed: .sealed
    case .unlocked: .unlocked
    case .locked: .locked
    }
  }
}
