import LatchkeyClassRules
import LatchkeyControl
import LatchkeyKeybag
import LatchkeySessionState
import LatchkeySodium
import LatchkeyVault

/// The answer to `latchkey status`.
final class StatusReport {
  private let vault: Vault
  private let session: SessionReference
  private let presence: BusPresence
  private let rules: ClassRules
  private let device: DeviceOpening
  private let password: LoginPassword
  private let fingers: FingerCheck
  private let history: HistoryKeeper
  private let opening: VaultOpening
  private let hold: LoginHold
  private let finger: FingerHold

  init(
    _ vault: Vault, session: SessionReference, presence: BusPresence, rules: ClassRules, device: DeviceOpening,
    password: LoginPassword, fingers: FingerCheck,
    history: HistoryKeeper, opening: VaultOpening, hold: LoginHold, finger: FingerHold
  ) {
    self.hold = hold
    self.finger = finger
    self.vault = vault
    self.session = session
    self.presence = presence
    self.rules = rules
    self.device = device
    self.password = password
    self.fingers = fingers
    self.history = history
    self.opening = opening
  }

  /// Registers the messages of the control socket that this type answers.
  func serve(in table: inout ControlTable) {
    table.answerLater(GetStatus.self) { [unowned self] _, peer, answer in
      hold.whenOver(for: peer.credentials.pid) { [unowned self] in answer(.success(status)) }
    }
  }

  private var status: Status {
    device.refresh()
    finger.follow()
    rules.refresh()
    let machine = session.machine
    var status = Status()
    status.state = session.state
    status.firstUnlocked = status.state != .sealed
    switch machine.state {
    // With an unusable keybag no keys arrive, so the machine hears of no failure.
    case .sealed:
      status.lockReasons = [.session((vault.hasUnusableKeybag ? .keysFailed : machine.sealReason).reason)]
    case .locked(let reason): status.lockReasons = [.session(reason.reason)]
    case .unlocked: break
    }
    status.lockerUp = machine.lockerUp
    status.staged = machine.hasStagedKeys
    status.classes = AccessibilityClass.allCases.map { .init(name: $0.name, isPresent: vault.hasKey($0)) }
    status.problems = vault.problems + rules.problems + fingers.problems
    status.problems += password.problems + (history.problem.map { [$0] } ?? [])
    status.problems += vault.keybagHealing.map { [$0.reason] } ?? []
    status.problems += vault.healing.done.map { [$0.reason] } ?? []
    // Most reasons are already in the list of the files' problems. A full disk is not.
    if machine.state == .sealed, machine.sealReason == .keysFailed, let failure = opening.failure?.reason,
      !status.problems.contains(failure)
    {
      status.problems.append(failure)
    }
    status.damagedFiles = vault.healing.filesAside
    status.needsFormerPassword = password.needsFormer
    status.vaultPath = vault.path
    status.generation = vault.keybag?.generation ?? 0
    status.deviceKey = vault.device.isMissing ? "unavailable" : vault.device.backend?.rawValue ?? ""
    status.memoryLocked = SecureBytes.memoryIsLocked
    status.swappableSecrets = SecureBytes.lockFailures
    status.nameOwner = presence.nameOwner
    status.lockSources =
      (machine.logind == .present ? [.session(.logind)] : [])
      + (presence.service == nil ? [] : [.session(.screenSavers)])
    status.items = UInt64((try? vault.reader.itemCount()) ?? 0)
    status.collections = UInt64(vault.collections.ids.count)
    status.lockedCollections = UInt64(vault.collections.lockedCount)
    status.hasLockedItems = vault.collections.hasLockedItems
    status.hasWaitingCollections = vault.collections.hasWaiting
    status.otherDeviceItems = UInt64((try? vault.device.itemCountOfOthers()) ?? 0)
    status.rotation = rotation
    status.epoch = vault.keybag?.epoch.number ?? 0
    status.passwordless = machine.isPasswordless
    status.recoveryCodeCreated = vault.keybag?.recoveryCodeCreated ?? 0
    status.finger = finger.status
    status.fingerProblem = finger.problem
    status.openedWithoutPassword = machine.isOpenedWithoutPassword
    status.protectors = (vault.keybag?.protectors ?? []).map {
      Status.Protector(
        kind: $0.kind.rawValue, state: $0.state.rawValue, created: $0.created, name: $0.securityKey?.name ?? "")
    }
    let generations = vault.history.generations
    status.history.isOn = vault.history.policy.isOn
    status.history.count = UInt32(clamping: generations.count)
    status.history.newest = generations.first?.time ?? 0
    status.history.problem = vault.history.problem
    status.hasOlderKeybag = vault.olderFiles.found.contains(.keybag)
    status.hasOlderDatabase = vault.olderFiles.found.contains(.database)
    return status
  }

  /// The progress of a change of keys.
  private var rotation: Status.Rotation {
    var rotation = Status.Rotation()
    guard let progress = try? vault.rotation.progress() else { return rotation }
    rotation.left = UInt64(progress.left)
    rotation.closed = UInt64(progress.closed)
    rotation.otherDevice = UInt64(progress.otherDevice)
    rotation.quarantined = UInt64(progress.quarantined)
    rotation.needsFormerKeys = vault.rotation.needsFormerKeys
    return rotation
  }
}
