import LatchkeyPosix
import LatchkeySodium

/// Why a keybag could not be read, opened or created.
public enum KeybagError: Error, Equatable, Sendable {
  /// The keybag is missing.
  case missing
  /// A keybag or a database exists already.
  case alreadyThere
  /// Another process has written the keybag since it was read.
  case overtaken
  /// The file ends early or goes on too long: some program cut it or wrote into it.
  case truncated
  /// The file does not begin like a keybag.
  case foreign
  /// Written by a later version, of this format number.
  case newerFormat(UInt32)
  /// The check sum, or the tag under the root key, does not fit.
  case damaged
  /// A count or a cost in it is outside what this version accepts.
  case unreasonable
  /// No protector opens with this password.
  case wrongPassword
  /// Something in the vault depends on each of as many key epochs as a keybag can have.
  case tooManyEpochs
  /// There was not enough memory for Argon2id. Never tried again with less.
  case noMemory
  /// A file could not be read or written.
  case file(PosixError)

  /// For a person: what is wrong with the file.
  public var explanation: String {
    switch self {
    case .missing: "the file is missing"
    case .alreadyThere: "a vault already exists"
    case .overtaken: "another process has written the file meanwhile"
    case .truncated: "the file is truncated, or too long"
    case .foreign: "the file is not a keybag"
    case .newerFormat(let version): "the file has format \(version), which is newer than this program"
    case .damaged: "the file is damaged: its check sum is wrong"
    case .unreasonable: "the file is damaged: it has numbers that no keybag has"
    case .wrongPassword: "the password does not open it"
    case .tooManyEpochs: "too many key epochs are still needed"
    case .noMemory: "there is not enough memory to check the password"
    case .file(let error): error.description
    }
  }
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
