import LatchkeyKeybag

/// Files of the vault that somebody replaced by an older copy.
public struct OlderFiles: OptionSet, Sendable {
  /// One bit for each file.
  public let rawValue: UInt8
  /// `keybag`.
  public static let keybag = OlderFiles(rawValue: 1)
  /// `vault.db`.
  public static let database = OlderFiles(rawValue: 2)

  /// Makes a set of files from bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The files whose generation is lower than the remembered one.
  init(_ present: VaultGenerations, remembered: VaultGenerations) {
    self = []
    if present.keybag < remembered.keybag { insert(.keybag) }
    if present.database < remembered.database { insert(.database) }
  }

  /// The files' names.
  public var names: [String] {
    (contains(.keybag) ? [KeybagFile.name] : []) + (contains(.database) ? [KeybagFile.database] : [])
  }
}
