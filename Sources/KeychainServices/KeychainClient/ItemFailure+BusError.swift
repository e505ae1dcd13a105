import LatchkeyItemProtection
import LatchkeySecretClient
import LatchkeySystemd
import Security

extension ItemFailure {
  /// The code for the vault's answer.
  init(_ error: BusError) {
    let status: OSStatus
    switch error.name {
    case BusError.lockedName: status = errSecInteractionNotAllowed
    case "org.latchkey.Error.Duplicate": status = errSecDuplicateItem
    case "org.latchkey.Error.NoPasscode", "org.latchkey.Error.NoFingers": status = errSecAuthFailed
    case "org.latchkey.Error.Damaged": status = errSecDecode
    case "org.latchkey.Error.Unavailable": status = errSecNotAvailable
    // The vault's error when the disk is full.
    case "org.freedesktop.DBus.Error.NoMemory": status = errSecDiskFull
    case ItemFailure.noMemoryName: status = errSecAllocate
    case _ where error.isNoSuchObject: status = errSecItemNotFound
    case _ where error.isStandard("LimitsExceeded"): status = errSecDataTooLarge
    case _ where error.isStandard("InvalidArgs"): status = errSecParam
    case _ where error.isStandard("NotSupported"): status = errSecUnimplemented
    case _ where error.isUnsent || error.isUnanswered || error.isStandard("AccessDenied"): status = errSecNotAvailable
    default: status = errSecInternalComponent
    }
    self.init(status)
  }

  /// One code for every reason why there is no connection; the cause is for the person.
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

  /// How a prompt ended that did not give what was wanted.
  init?(_ outcome: PromptOutcome) {
    switch outcome {
    case .accepted: return nil
    case .dismissed: self.init(errSecUserCanceled)
    case .refused, .fingers: self.init(errSecAuthFailed)
    case .unavailable: self.init(errSecInteractionNotAllowed, .nobodyToAsk)
    case .withdrawn: self.init(errSecInteractionNotAllowed)
    case .duplicate: self.init(errSecDuplicateItem)
    }
  }

  /// The name of an error of this process: it has no memory left.
  static let noMemoryName = "org.latchkey.Error.NoMemory"
}

extension BusError {
  /// Whether the call reached nobody: the vault's unique name is gone, or the bus was before the call.
  var isUnsent: Bool { isStandard("ServiceUnknown") || isStandard("NameHasNoOwner") }
  /// Whether nobody knows what became of the call.
  var isUnanswered: Bool { isStandard("NoReply") || isStandard("Disconnected") || isStandard("Timeout") }
}
