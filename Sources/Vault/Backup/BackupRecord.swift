import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// One record of a backup, in this order: its beginning; collections, each before the first item in it; items; its end.
public enum BackupRecord: ~Copyable {
  /// The vault and the device of the backup.
  case beginning(BackupBeginning)
  /// A collection.
  case collection(BackupCollection)
  /// An item.
  case item(BackupItem)
  /// The end, with the number of items and collections.
  case end(items: UInt64, collections: UInt32)

  enum Kind: UInt8 {
    case beginning = 1
    case collection = 2
    case item = 3
    case end = 4
  }
}

/// The vault and the device that a backup was made of.
public struct BackupBeginning: Equatable, Sendable {
  /// The vault's id: 16 bytes.
  public let vault: [UInt8]
  /// The device's part; nil if the backup has no items of a device.
  public let device: BackupDevice?

  /// Puts the values together.
  public init(vault: [UInt8], device: BackupDevice?) {
    self.vault = vault
    self.device = device
  }

  var head: [UInt8] {
    var out = ByteWriter()
    out.put(vault)
    out.put(device?.identity ?? [UInt8](repeating: 0, count: 16))
    out.short(device?.byKey ?? [])
    out.short(device?.byShare ?? [])
    return out.bytes
  }

  init(decoding input: inout ByteReader) throws(ByteReader.Truncated) {
    vault = try input.take(16)
    let (identity, byKey, byShare) = (try input.take(16), try input.short(), try input.short())
    device = byKey.isEmpty && byShare.isEmpty ? nil : BackupDevice(identity: identity, byKey: byKey, byShare: byShare)
  }
}

/// The part of a backup that only its device can read: the key of its ThisDeviceOnly items, wrapped in two ways.
public struct BackupDevice: Equatable, Sendable {
  /// The device key's identity: 16 bytes.
  public let identity: [UInt8]
  /// The key, wrapped by the device key. The device key opens this, even if the vault is lost.
  public let byKey: [UInt8]
  /// The key, wrapped under the device's share of the vault. The share opens this if the device key has moved but the vault still
  /// exists.
  public let byShare: [UInt8]

  /// Puts the values together.
  public init(identity: [UInt8], byKey: [UInt8], byShare: [UInt8]) {
    (self.identity, self.byKey, self.byShare) = (identity, byKey, byShare)
  }

  /// The context to which both wrappings are bound.
  public static func context(id: [UInt8]) -> [UInt8] {
    Array("latchkey/1/backup-device".utf8) + id
  }
}

/// A collection in a backup.
public struct BackupCollection: Equatable, Sendable {
  /// The names by which programs know the collection.
  public struct Aliases: OptionSet, Sendable {
    /// Bits.
    public let rawValue: UInt8
    /// Makes the value from bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// The collection for programs that name no collection.
    public static let standard = Aliases(rawValue: 1)
    /// The login's collection.
    public static let login = Aliases(rawValue: 2)
    /// The collection of sandboxed applications.
    public static let portal = Aliases(rawValue: 4)
    static let all: Aliases = [.standard, .login, .portal]
  }

  /// 16 bytes, by which the collection is recognised.
  public let uuid: [UInt8]
  /// The label, for a person.
  public let label: String
  /// The names by which programs know the collection.
  public let aliases: Aliases
  /// Whether the collection had a passphrase of its own, which no backup carries.
  public let hadPassphrase: Bool
  /// When the collection was made, in seconds since 1970.
  public let created: UInt64
  /// The last part of the collection's object path; nil if the vault did not keep it.
  public let name: String?

  /// Puts the values together.
  public init(
    uuid: [UInt8], label: String, aliases: Aliases, hadPassphrase: Bool, created: UInt64, name: String? = nil
  ) {
    (self.uuid, self.label, self.aliases, self.name) = (uuid, label, aliases, name)
    (self.hadPassphrase, self.created) = (hadPassphrase, created)
  }

  private static let passphraseBit: UInt8 = 0x80

  var head: [UInt8] {
    var out = ByteWriter()
    out.put(uuid)
    out.number(aliases.rawValue | (hadPassphrase ? BackupCollection.passphraseBit : 0))
    out.number(created)
    out.long(CollectionTitle(label: label, name: name).encoded)
    return out.bytes
  }

  init(decoding input: inout ByteReader) throws(ByteReader.Truncated) {
    uuid = try input.take(16)
    let bits: UInt8 = try input.number()
    aliases = Aliases(rawValue: bits).intersection(.all)
    hadPassphrase = bits & BackupCollection.passphraseBit != 0
    created = try input.number()
    let title = CollectionTitle(decoding: try input.long())
    (label, name) = (title.label, title.name)
  }
}

/// An item in a backup.
public struct BackupItem: ~Copyable {
  /// The item's collection: the number of a record before it, from 0.
  public let collection: UInt32
  /// When the item's secret may be read.
  public let accessibility: AccessibilityClass
  /// When the item was made, in seconds since 1970.
  public let created: UInt64
  /// When the item last changed, in seconds since 1970.
  public let modified: UInt64
  /// Label, attributes, content type and flags, as the vault seals them; sealed for the device if ``sealing`` says so.
  public let metadata: [UInt8]
  /// The secret; sealed for the device if ``sealing`` says so.
  public let secret: SecureBytes

  /// The part of a class's items that is sealed for their device.
  public enum Sealing: UInt8, Sendable {
    /// Nothing is sealed: the item can be restored everywhere.
    case none = 0
    /// The secret.
    case secret = 1
    /// Secret, label and attributes.
    case everything = 3
  }

  /// Puts the values together.
  public init(
    collection: UInt32, accessibility: AccessibilityClass, created: UInt64, modified: UInt64, metadata: [UInt8],
    secret: consuming SecureBytes
  ) {
    (self.collection, self.accessibility, self.created) = (collection, accessibility, created)
    (self.modified, self.metadata) = (modified, metadata)
    self.secret = secret
  }

  /// The part that is sealed for the device.
  public var sealing: Sealing { accessibility.backupSealing ?? .everything }

  /// Gives the secret to another owner.
  public consuming func takeSecret() -> SecureBytes { secret }

  var head: [UInt8] {
    var out = ByteWriter(capacity: 64 + metadata.count)
    out.number(collection)
    out.number(accessibility.rawValue)
    out.number(sealing.rawValue)
    out.number(created)
    out.number(modified)
    out.long(metadata)
    return out.bytes
  }

  init?(decoding input: inout ByteReader, secret: consuming SecureBytes) {
    guard let collection = try? input.number(UInt32.self), let raw = try? input.number(UInt8.self),
      let accessibility = AccessibilityClass(rawValue: raw), let sealing = try? input.number(UInt8.self),
      sealing == accessibility.backupSealing?.rawValue, let created = try? input.number(UInt64.self),
      let modified = try? input.number(UInt64.self), let metadata = try? input.long()
    else { return nil }
    self.init(
      collection: collection, accessibility: accessibility, created: created, modified: modified, metadata: metadata,
      secret: secret)
  }
}

extension AccessibilityClass {
  /// The part of an item of this class that a backup seals for the item's device; nil if no backup has the class. Labels and
  /// attributes are sealed for the device only if they depend on the device in the vault too. Only one class has such labels.
  public var backupSealing: BackupItem.Sealing? {
    switch self {
    case .whenUnlocked, .afterFirstUnlock, .always: BackupItem.Sealing.none
    case .whenUnlockedThisDeviceOnly, .afterFirstUnlockThisDeviceOnly: .secret
    case .alwaysThisDeviceOnly: .everything
    case .whenPasscodeSetThisDeviceOnly: nil
    }
  }
}
