import LatchkeyControl
import LatchkeySessionState
import LatchkeySystemd

/// Ends the present daemon for the newly installed one. The present daemon was started before an upgrade, and no longer understands
/// the helpers.
///
/// While tier key A is in memory, or is staged, this daemon continues, because its end would lock the vault. Without such a key it
/// ends, if a helper has opened the keybag. The service manager starts the installed daemon at the helper's next connection, and
/// the same password unlocks everything there. A helper with a wrong password ends no daemon.
final class Replacement {
  private let session: SessionReference
  private let opening: VaultOpening
  /// Whether a service manager starts the program again when it is needed.
  private let isStartedAgain: Bool
  private let end: () -> Void
  /// Whether the journal says that a program of another version asked.
  private var hasTold = false
  private var hasEnded = false

  /// - Parameters:
  ///   - opening: knows which helpers may work on a password.
  ///   - end: ends the program.
  init(session: SessionReference, opening: VaultOpening, isStartedAgain: Bool, end: @escaping () -> Void) {
    (self.session, self.opening, self.isStartedAgain, self.end) = (session, opening, isStartedAgain, end)
  }

  /// Answers a program of another version.
  func met(_ message: OtherVersionMessage, from peer: ControlPeer) {
    switch message {
    case .hello: announce(peer)
    case .giveWay: giveWay(to: peer)
    case .prompt:
      peer.declineOtherVersion()
      // Prompts wait while a locker is up. If this daemon does not end, nobody can answer a prompt.
      if mayEnd, !session.machine.hasUnlockedKeys { giveWay() } else { tell() }
    case .other:
      peer.declineOtherVersion()
      tell()
    }
  }

  private var mayEnd: Bool { isStartedAgain && !hasEnded }

  /// Notes that a helper is about to work on a password. Sleep, a lock and the end of the session end this helper like any other.
  private func announce(_ peer: ControlPeer) {
    tell()
    check(peer) { [weak self, weak peer] claim in
      guard let self, let peer else { return }
      guard let claim, mayEnd, session.machine.mayBeReplaced(for: claim) else { return peer.declineOtherVersion() }
      peer.claim = claim
      peer.beginsDeriving()
      peer.send(ControlPacket.thatGivesWay)
    }
  }

  private func giveWay(to peer: ControlPeer) {
    guard peer.isDeriving, let claim = peer.claim else { return peer.declineOtherVersion() }
    // logind may know of a lock that the daemon has not heard of yet.
    check(peer) { [weak self, weak peer] present in
      guard let self, let peer else { return }
      guard present != nil, mayEnd, session.machine.mayBeReplaced(for: claim) else { return peer.declineOtherVersion() }
      peer.send(ControlPacket.thatGivesWay)
      giveWay()
    }
  }

  /// The claim of a helper in the present state; nil if it may not work on a password.
  private func check(_ peer: ControlPeer, _ answer: @escaping (Claim?) -> Void) {
    opening.mayDerive(from: peer.credentials) { answer(try? $0.get()) }
  }

  private func giveWay() {
    hasEnded = true
    Journal.log(.warning, "\(Replacement.met); this one ends, and the installed one takes its place")
    end()
  }

  private func tell() {
    guard !hasTold else { return }
    hasTold = true
    Journal.log(
      .warning,
      "\(Replacement.met); to change to the installed one: systemctl --user restart latchkeyd && latchkey unlock")
  }

  private static let met = "a program of another version of Latchkey asked"
}
