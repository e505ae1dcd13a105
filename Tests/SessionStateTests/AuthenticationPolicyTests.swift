import Foundation
import LatchkeyControl
import LatchkeySessionState
import Testing

private typealias Decision = AuthenticationPolicy.Decision

@Suite struct AuthenticationPolicyTests {
  private static let graphical = PeerProcess.session(uid: 1000, sessionClass: "user", type: "x11", isRemote: false)
  private static let terminal = PeerProcess.session(uid: 1000, sessionClass: "user", type: "tty", isRemote: false)
  private static let greeterScreen = PeerProcess.session(
    uid: 115, sessionClass: "greeter", type: "x11", isRemote: false)

  private static var lockedByCommand: SessionMachine {
    var m = unlocked(x(1))
    _ = m.handle(.lockCommand)
    return m
  }

  private static var locked: SessionMachine {
    var m = unlocked(x(1))
    _ = m.handle(.sessions([x(1, hint: true)]))
    return m
  }

  private func decide(
    _ service: String, stage: Hello.Stage = .authenticate, rhost: String = "", peer: PeerProcess,
    _ machine: SessionMachine
  ) -> Decision {
    AuthenticationPolicy.decide(
      Hello(stage: stage, service: service, tty: "", remoteHost: rhost), from: peer, machine: machine)
  }

  private func isRefused(_ decision: Decision) -> Bool {
    if case .refused(let reason) = decision { !reason.text.isEmpty } else { false }
  }

  @Test func nothingIsNeededWhileUnlocked() {
    for service in ["login", "sshd", "swaylock", "latchkey-unlock", "gdm-password"] {
      #expect(decide(service, peer: Self.graphical, unlocked(x(1))) == .nothing)
    }
    #expect(decide("login", stage: .closeSession, peer: .rootsService, machine()) == .nothing)
  }

  /// The test reads the list from `Sources/C/CHelper/helper.h`, because Swift does not import a macro.
  private static func excludedServices() throws -> [String] {
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../Sources")
    let header = try String(contentsOf: sources.appendingPathComponent("C/CHelper/helper.h"), encoding: .utf8)
    let lines = header.split(separator: "\n", omittingEmptySubsequences: false)
    return lines.drop { !$0.hasPrefix("#define HELPER_EXCLUDED_SERVICES(entry)") }.dropFirst().prefix { !$0.isEmpty }
      .compactMap { $0.split(separator: "\"").dropFirst().first.map(String.init) }
  }

  @Test func servicesOfPeopleAlreadyInNeverUnlock() throws {
    let services = try Self.excludedServices()
    #expect(Set(services).isSuperset(of: ["systemd-user", "sudo", "chpasswd", "chsh"]))
    for service in services { expectRefusal(of: service) }
  }

  private func expectRefusal(of service: String) {
    for machine in [machine(x(1)), unlocked(x(1)), Self.lockedByCommand, Self.locked] {
      for stage in [Hello.Stage.authenticate, .openSession] {
        #expect(isRefused(decide(service, stage: stage, peer: Self.graphical, machine)), "\(service)")
      }
    }
  }

  @Test func anyLoginUnseals() {
    for stage in [Hello.Stage.authenticate, .openSession] {
      #expect(decide("login", stage: stage, peer: .rootsService, machine()) == .keys(mayLift: true))
      #expect(decide("gdm-password", stage: stage, peer: Self.greeterScreen, machine()) == .keys(mayLift: true))
      #expect(decide("login", stage: stage, peer: .unknown, machine()) == .keys(mayLift: true))
      // If the screen is locked when the keys come, these services do not lift the lock.
      #expect(decide("sshd", stage: stage, rhost: "::1", peer: .rootsService, machine()) == .keys(mayLift: false))
      #expect(decide("sshd", stage: stage, peer: .rootsService, machine()) == .keys(mayLift: false))
      #expect(decide("login", stage: stage, rhost: "host", peer: .rootsService, machine()) == .keys(mayLift: false))
    }
  }

  @Test func theUsersOwnScreenLifts() {
    for machine in [Self.lockedByCommand, Self.locked] {
      #expect(decide("swaylock", peer: Self.graphical, machine) == .keys(mayLift: true))
      #expect(decide("vlock", peer: Self.terminal, machine) == .keys(mayLift: true))
      #expect(decide("kde", peer: .userManager(uid: 1000), machine) == .keys(mayLift: true))
      #expect(decide("gdm-password", peer: .rootsService, machine) == .keys(mayLift: true))
      #expect(decide("lightdm", peer: Self.greeterScreen, machine) == .keys(mayLift: true))
      #expect(decide("login", peer: .unknown, machine) == .keys(mayLift: true))
    }
  }

  @Test func aLockerMayNameThisMachineAsItsHost() {
    for machine in [Self.lockedByCommand, Self.locked] {
      for peer in [Self.graphical, Self.terminal, .userManager(uid: 1000)] {
        #expect(decide("common-auth", rhost: "localhost", peer: peer, machine) == .keys(mayLift: true))
        #expect(isRefused(decide("common-auth", rhost: "localhost.example", peer: peer, machine)))
        #expect(isRefused(decide("sshd", rhost: "localhost", peer: peer, machine)))
      }
      for peer in [PeerProcess.rootsService, .unknown, .userManager(uid: 1001)] {
        #expect(isRefused(decide("common-auth", rhost: "localhost", peer: peer, machine)), "\(peer)")
      }
      let remote = PeerProcess.session(uid: 1000, sessionClass: "user", type: "tty", isRemote: true)
      #expect(isRefused(decide("common-auth", rhost: "localhost", peer: remote, machine)))
    }
  }

  @Test func nobodyElseLifts() {
    let remote = PeerProcess.session(uid: 1000, sessionClass: "user", type: "tty", isRemote: true)
    let stranger = PeerProcess.session(uid: 1001, sessionClass: "user", type: "x11", isRemote: false)
    let background = PeerProcess.session(uid: 1000, sessionClass: "background", type: "tty", isRemote: false)
    let untyped = PeerProcess.session(uid: 1000, sessionClass: "user", type: "unspecified", isRemote: false)
    for machine in [Self.lockedByCommand, Self.locked] {
      for peer in [
        remote, stranger, background, untyped, .userManager(uid: 1001), .systemService(startedByRoot: false),
      ] {
        #expect(isRefused(decide("login", peer: peer, machine)), "\(peer)")
      }
      #expect(isRefused(decide("sshd", rhost: "192.0.2.1", peer: .rootsService, machine)))
      #expect(isRefused(decide("sshd", peer: .rootsService, machine)))
      #expect(isRefused(decide("login", rhost: "192.0.2.1", peer: Self.graphical, machine)))
      #expect(isRefused(decide("login", rhost: "192.0.2.1", peer: .unknown, machine)))
    }
    // The user's manager counts as the desktop's only if there is a desktop.
    var terminals = unlocked(t(1))
    _ = terminals.handle(.lockCommand)
    #expect(isRefused(decide("login", peer: .userManager(uid: 1000), terminals)))
  }

  /// A locked desktop that gdm opened over the network.
  private static func remoteDesktop(and others: SessionFacts...) -> SessionMachine {
    func desktop(hint: Bool) -> SessionFacts {
      SessionFacts(id: "7", uid: 1000, type: "wayland", lockedHint: hint, isRemote: true, service: "gdm-password")
    }
    var m = unlocked(desktop(hint: false))
    _ = m.handle(.sessions([desktop(hint: true)] + others))
    return m
  }

  @Test func theScreenOfARemoteDesktopLifts() {
    let machine = Self.remoteDesktop()
    #expect(machine.state == .locked(.lockedHint))
    #expect(decide("gdm-password", rhost: "0.0.0.0", peer: .rootsService, machine) == .keys(mayLift: true))
    // gdm's own process for the desktop is in the session, and also names the remote host.
    let locker = PeerProcess.session(id: "7", uid: 1000, sessionClass: "user", type: "wayland", isRemote: true)
    #expect(decide("gdm-password", rhost: "0.0.0.0", peer: locker, machine) == .keys(mayLift: true))
    #expect(decide("xfce4-screensaver", peer: locker, machine) == .keys(mayLift: true))
  }

  @Test func nobodyElseLiftsBesideARemoteDesktop() {
    let machine = Self.remoteDesktop()
    // Other programs that serve networks.
    #expect(isRefused(decide("sshd", rhost: "192.0.2.1", peer: .rootsService, machine)))
    #expect(isRefused(decide("login", rhost: "192.0.2.1", peer: .rootsService, machine)))
    #expect(isRefused(decide("gdm-password", rhost: "0.0.0.0", peer: .unknown, machine)))
    let desktop = PeerProcess.session(id: "7", uid: 1000, sessionClass: "user", type: "wayland", isRemote: true)
    #expect(isRefused(decide("login", rhost: "192.0.2.1", peer: desktop, machine)))
    #expect(isRefused(decide("gdm-password", rhost: "0.0.0.0", peer: .systemService(startedByRoot: false), machine)))
    let terminal = PeerProcess.session(id: "8", uid: 1000, sessionClass: "user", type: "tty", isRemote: true)
    #expect(isRefused(decide("login", peer: terminal, machine)))
  }

  @Test func aRemoteDesktopLiftsNothingBesideADesktopAtThisMachine() {
    let machine = Self.remoteDesktop(and: x(1, hint: true))
    #expect(isRefused(decide("gdm-password", rhost: "0.0.0.0", peer: .rootsService, machine)))
    let locker = PeerProcess.session(id: "7", uid: 1000, sessionClass: "user", type: "wayland", isRemote: true)
    #expect(isRefused(decide("gdm-password", rhost: "0.0.0.0", peer: locker, machine)))
    #expect(isRefused(decide("xfce4-screensaver", peer: locker, machine)))
  }

  /// The cases of docs/security/locking.md in which a remote locker or desktop looks like a local one.
  @Test func whereARemoteDesktopCannotBeTold() {
    // A unit of the user's manager may belong to either desktop.
    let both = Self.remoteDesktop(and: x(1, hint: true))
    #expect(decide("kde", peer: .userManager(uid: 1000), both) == .keys(mayLift: true))
    // A text login that is still open may have started a desktop with startx.
    let terminal = SessionFacts(id: "2", uid: 1000, type: "tty", service: "login", seat: "seat0")
    let beside = Self.remoteDesktop(and: terminal)
    #expect(decide("gdm-password", rhost: "0.0.0.0", peer: .rootsService, beside) == .keys(mayLift: true))
    // A desktop over the network whose facts do not show the network.
    let silent = PeerProcess.session(id: "7", uid: 1000, sessionClass: "user", type: "x11", isRemote: false)
    #expect(decide("xfce4-screensaver", peer: silent, Self.locked) == .keys(mayLift: true))
  }

  @Test func openingASessionLiftsNothing() {
    for machine in [Self.lockedByCommand, Self.locked] {
      #expect(decide("login", stage: .openSession, peer: .rootsService, machine) == .nothing)
      #expect(decide("sshd", stage: .openSession, rhost: "::1", peer: .rootsService, machine) == .nothing)
    }
  }

  @Test func theCommandLineUnsealsAndLiftsUnlessALockerIsUp() {
    let remote = PeerProcess.session(uid: 1000, sessionClass: "user", type: "tty", isRemote: true)
    for peer in [Self.terminal, remote, .userManager(uid: 1000), .unknown] {
      #expect(decide("latchkey-unlock", peer: peer, machine(x(1))) == .keys(mayLift: true))
      #expect(decide("latchkey-unlock", peer: peer, Self.lockedByCommand) == .keys(mayLift: true))
      #expect(decide("latchkey-unlock", peer: peer, Self.locked) == .refused(.session(.unlockScreen)))
      #expect(
        decide("latchkey-unlock", peer: peer, machine(x(1, hint: true))) == .refused(.session(.unlockScreen)))
    }
  }
}

extension PeerProcess {
  /// A login or display manager.
  fileprivate static let rootsService = PeerProcess.systemService(startedByRoot: true)
}
