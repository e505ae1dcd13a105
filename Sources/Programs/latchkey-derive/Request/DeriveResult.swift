import CLatchkeyHelper
import LatchkeyControl
import LatchkeyKeybag

/// The one byte that the helper answers; the module logs its meaning.
typealias DeriveResult = HelperResult

extension DeriveResult {
  /// The result for an error.
  init(_ error: any Error) {
    self =
      switch error {
      case ControlError.noDaemon: .noDaemon
      case ControlError.silent, ControlError.broken: .daemonSilent
      case ControlError.otherVersion, ControlError.givesWay: .otherVersion
      case ControlError.strangeDaemon, ControlError.declined: .refused
      case KeybagError.missing: .noVault
      case KeybagError.wrongPassword: .wrongPassword
      case KeybagError.noMemory: .noMemory
      case KeybagError.overtaken: .overtaken
      case KeybagError.tooManyEpochs: .tooManyEpochs
      case KeybagError.file: .homeUnavailable
      case is DeviceKeyError: .noDeviceKey
      case is AdmittedServices.Unbelieved: .servicesUnbelieved
      case is KeybagError: .damaged
      default: .internalError
      }
  }
}
