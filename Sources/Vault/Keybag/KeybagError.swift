import LatchkeyPosix
import LatchkeyReasons
import LatchkeySodium

/// Why a keybag could not be read, opened or created.
public enum KeybagError: Error, Equatable, Sendable {
  /// The keybag is missing.
  case missing
  /// A keybag or a database exists already.
  case alreadyThere
  /// Another process has written the keybag since this process read it.
  case overtaken
  /// The file is too short or too long, because some program cut it or wrote into it.
  case truncated
  /// The file does not begin like a keybag.
  case foreign
  /// Written by a later version, of this format number.
  case newerFormat(UInt32)
  /// The check sum, or the tag under the root key, does not fit.
  case damaged
  /// A count or a cost in the keybag is outside the limits of this version.
  case unreasonable
  /// No protector opens with this password.
  case wrongPassword
  /// The keybag has the most key epochs that are possible, and the vault needs each.
  case tooManyEpochs
  /// There was not enough memory for Argon2id. The cost is fixed, so no program can try with less memory.
  case noMemory
  /// A file could not be read or written.
  case file(PosixError)

  /// The file's damage, or another reason.
  public var reason: Reason {
    switch self {
    case .missing: .keybag(.missing)
    case .alreadyThere: .keybag(.alreadyThere)
    case .overtaken: .keybag(.overtaken)
    case .truncated: .keybag(.truncated)
    case .foreign: .keybag(.foreign)
    case .newerFormat(let version): .newerFormat(Int64(version))
    case .damaged: .keybag(.damaged)
    case .unreasonable: .keybag(.unreasonable)
    case .wrongPassword: .keybag(.wrongPassword)
    case .tooManyEpochs: .keybag(.tooManyEpochs)
    case .noMemory: .keybag(.noMemory)
    case .file(let error): .verbatim(error.description)
    }
  }

  /// The error in English, for the log.
  public var explanation: String { reason.text }
}

extension KeybagError {
  /// Runs system calls whose failure means that the keybag's file cannot be used.
  static func file<Result: ~Copyable>(_ body: () throws(PosixError) -> Result) throws(KeybagError) -> Result {
    do { return try body() } catch { throw .file(error) }
  }

  /// Runs cryptography whose failure means a damaged keybag or a lack of memory.
  static func sodium<Result: ~Copyable>(_ body: () throws(SodiumError) -> Result) throws(KeybagError) -> Result {
    do { return try body() } catch { throw KeybagError(error) }
  }

  /// Maps an error of libsodium.
  init(_ error: SodiumError) { self = error == .outOfMemory ? .noMemory : .damaged }
}
