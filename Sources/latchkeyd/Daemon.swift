import Control
import Glibc
import Keybag
import Posix
import SecretService
import Sodium
import Systemd
import Vault

/// The vault of one user, at work: wires vault, session state, control socket and bus.
final class Daemon: ControlHandler {
  private let loop: EventLoop
  private let vault: Vault
  private let owner: uid_t
  private var service: SecretService?
  private var opened = 0
  private var state = Status.State.sealed

  init(loop: EventLoop, vault: Vault, owner: uid_t) {
    self.loop = loop
    self.vault = vault
    self.owner = owner
  }

  func start(bus: Bus) throws {
    service = try SecretService(bus: bus, loop: loop, vault: vault) { false }
    try bus.requestNameAsync(SecretService.busName) { result in Journal.log(.info, "name: \(result)") }
  }

  func hello(_ hello: Hello, from peer: LocalSocket.Peer, answer: @escaping (Need) -> Void) {
    vault.refresh()
    switch hello.stage {
    case .closeSession:
      opened -= 1
      if opened <= 0 {
        vault.seal()
        state = .sealed
        service?.sessionEnded()
      }
      answer(.nothing)
    case .openSession:
      opened += 1
      answer(state == .unlocked ? .nothing : .keys)
    case .authenticate: answer(state == .unlocked ? .nothing : .keys)
    }
  }

  func unlock(
    _ delivery: consuming TierDelivery, _ hello: Hello, from peer: LocalSocket.Peer,
    answer: @escaping (UnlockOutcome) -> Void
  ) {
    vault.refresh()
    do {
      guard try vault.recognises(delivery.tiers) else { return answer(.wrongKeys) }
      try vault.unlock(delivery.tiers, opening: .everything, liftingMarks: true, mayCreate: delivery.founded)
      state = .unlocked
      answer(.live)
      service?.stateChanged()
      _ = try? vault.rewrapStoredWhileLocked(limit: 1000)
    } catch {
      answer(.unusable("\(error)"))
    }
  }

  var status: Status {
    vault.refresh()
    var status = Status()
    status.state = state
    status.problems = vault.problems
    status.vaultPath = vault.path
    status.generation = vault.keybag?.generation ?? 0
    status.classes = AccessibilityClass.allCases.map { .init(name: $0.name, isPresent: vault.hasKey($0)) }
    status.memoryLocked = SecureBytes.memoryIsLocked
    status.items = UInt64((try? vault.itemCount()) ?? 0)
    status.collections = UInt64(vault.collections.count)
    status.deviceKey = vault.deviceBackend?.rawValue ?? ""
    return status
  }

  func lock() {
    vault.evict()
    state = .locked
    service?.stateChanged()
  }
}
