import Glibc
import LatchkeyControl
import LatchkeySessionState

/// The session's state, as far as it is known already.
final class SessionReference {
  var watch: SessionWatch?
  private let unknown = SessionMachine(uid: getuid())

  var machine: SessionMachine { watch?.machine ?? unknown }

  var state: Status.State {
    switch machine.state {
    case .sealed: .sealed
    case .unlocked: .unlocked
    case .locked: .locked
    }
  }
}
