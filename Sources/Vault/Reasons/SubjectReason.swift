import LatchkeyText

/// The subjects of reasons: the first words of a line, as in `keybag: the file is missing`.
public enum SubjectReason: String, ReasonGroup {
  case keybag, database, deviceFile, serviceMark, generations, keybagLock, folder, deviceService, deviceKey
  case generationsFolder, generation, serviceState

  package static let name = "subject"

  package var phrase: Phrase {
    switch self {
    case .keybag: Phrase(verbatim: "keybag")
    case .database: Phrase(verbatim: "vault.db")
    case .deviceFile: Phrase(verbatim: "device.key")
    case .serviceMark: Phrase(verbatim: "device.service")
    case .generations: Phrase("generations")
    case .keybagLock: Phrase(verbatim: "keybag.lock")
    case .folder: Phrase("the vault's folder")
    case .deviceService: Phrase("device key service")
    case .deviceKey: Phrase("the device key")
    case .generationsFolder: Phrase("the folder of the generations")
    case .generation: Phrase("a generation")
    case .serviceState: Phrase("the service's state")
    }
  }
}
