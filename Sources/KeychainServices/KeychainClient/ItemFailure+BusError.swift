import LatchkeyItemProtection
import LatchkeySecretClient
import LatchkeySecurity
import LatchkeySystemd

extension ItemFailure {
  /// The result code for an error of the vault.
  init(_ error: BusError) {
    let status: OSStatus
    var cause: FailureCause?
    switch error.name {
    case BusError.lockedName:
      status = errSecInteractionNotAllowed
      // The vault uses one error name for a missing vault and for a lock. The error's code tells which of them it is.
      if ["vault.notCreated", "vault.notCreatedForRoom"].contains(error.code) { cause = .noVaultYet }
    case "org.latchkey.Error.Duplicate": status = errSecDuplicateItem
    case "org.latchkey.Error.NoPasscode": (status, cause) = (errSecAuthFailed, .noPasscode)
    case "org.latchkey.Error.NoFingers": (status, cause) = (errSecAuthFailed, .noEnrolledFinger)
    case "org.latchkey.Error.Damaged": status = errSecDecode
    case "org.latchkey.Error.Unavailable": status = errSecNotAvailable
    // The vault returns this error when the disk is full.
    case "org.freedesktop.DBus.Error.NoMemory": status = errSecDiskFull
    case ItemFailure.noMemoryName: status = errSecAllocate
    case _ where error.isNoSuchObject: status = errSecItemNotFound
    case _ where error.isStandard("LimitsExceeded"): status = errSecDataTooLarge
    case _ where error.isStandard("InvalidArgs"): status = errSecParam
    case _ where error.isStandard("NotSupported"): status = errSecUnimplemented
    case _ where error.isUnsent || error.isUnanswered || error.isStandard("AccessDenied"): status = errSecNotAvailable
    default: status = errSecInternalComponent
    }
    self.init(status, cause)
  }

  /// Every failed connection has the same code. The cause tells the reason to a person.
  init(_ failure: ConnectionFailure) {
    let cause: FailureCause =
      switch failure {
      case .noBus: .noBus
      case .notRunning: .noVault
      case .stranger, .otherService: .otherService
      case .broken: .silentVault
      }
    self.init(errSecNotAvailable, cause)
  }

  /// The failure after an unsuccessful prompt.
  ///
  /// - Parameter control: The requirements that the person had to meet; nil if they are unknown.
  init?(_ outcome: PromptOutcome, for control: AccessControl? = nil) {
    switch outcome {
    case .accepted: return nil
    case .dismissed: self.init(errSecUserCanceled)
    case .refused: self.init(errSecAuthFailed, .wrongAnswer(control))
    case .paused: self.init(errSecAuthFailed, .pausedPassphrase)
    case .expired: self.init(errSecInteractionNotAllowed, .unanswered)
    case .fingers: self.init(errSecAuthFailed, .otherFingers)
    case .unavailable:
      self.init(errSecInteractionNotAllowed, control?.requiresFinger == true ? .noFinger : .nobodyToAsk)
    case .withdrawn: self.init(errSecInteractionNotAllowed, .withdrawnPrompt)
    case .full: self.init(errSecDiskFull)
    case .duplicate: self.init(errSecDuplicateItem)
    }
  }

  /// The name of the error if this process has no memory left.
  static let noMemoryName = "org.latchkey.Error.NoMemory"
}

extension AccessControl {
  /// Whether the requirements cannot be met without a finger.
  fileprivate var requiresFinger: Bool {
    let fingers = conditions.intersection([.biometryAny, .biometryCurrentSet])
    return combination == .all ? !fingers.isEmpty : !fingers.isEmpty && fingers == conditions
  }
}

extension BusError {
  /// Whether nobody received the call, because the daemon or the bus was gone before it.
  var isUnsent: Bool { isStandard("ServiceUnknown") || isStandard("NameHasNoOwner") }
  /// Whether the result of the call is unknown.
  var isUnanswered: Bool { isStandard("NoReply") || isStandard("Disconnected") || isStandard("Timeout") }
}
