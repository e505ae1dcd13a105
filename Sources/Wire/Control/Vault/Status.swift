import LatchkeyBytes
import LatchkeyReasons

/// The facts that `latchkey status` shows. It contains no secret, label or attribute.
public struct Status: ControlFields, Equatable, Sendable {
  /// The state of the vault.
  public enum State: UInt8, Sendable {
    /// There was no login yet, or the session has ended.
    case sealed = 0
    /// Everything can be read.
    case unlocked = 1
    /// The session was unlocked before, but is locked now.
    case locked = 2

    /// The word for the state: "sealed", "unlocked" or "locked".
    public var name: String {
      switch self {
      case .sealed: "sealed"
      case .unlocked: "unlocked"
      case .locked: "locked"
      }
    }
  }

  /// Whether the keys of one class are in memory.
  public struct ClassState: Equatable, Sendable {
    /// The class's name, such as "when-unlocked".
    public var name: String
    /// Whether the keys of the class are in memory.
    public var isPresent: Bool

    /// Makes a value from its parts.
    public init(name: String, isPresent: Bool) {
      self.name = name
      self.isPresent = isPresent
    }
  }

  /// The state of the vault.
  public var state = State.sealed
  /// Whether the session was unlocked since it began.
  public var firstUnlocked = false
  /// The reasons why the vault is locked.
  public var lockReasons: [Reason] = []
  /// Whether a locker is on the screen.
  public var lockerUp = false
  /// Whether the daemon keeps keys until the screen locker has left the screen.
  public var staged = false
  /// The states of all classes.
  public var classes: [ClassState] = []
  /// The problems. Each names the file.
  public var problems: [Reason] = []
  /// The vault's folder.
  public var vaultPath = ""
  /// The keybag's generation; 0 if there is no keybag.
  public var generation: UInt64 = 0
  /// The place of the device key: "tpm", "host" or "file". "unavailable" while the device key cannot be used, and empty if there is
  /// none.
  public var deviceKey = ""
  /// Whether memory that holds secrets is locked.
  public var memoryLocked = false
  /// The number of allocations for secrets that were not locked since the daemon started, for example a large secret with a small
  /// limit of locked memory.
  public var swappableSecrets: UInt64 = 0
  /// The owner of `org.freedesktop.secrets`: "latchkeyd", "nobody", or another program's bus name.
  public var nameOwner = ""
  /// The sources of news about locked screens.
  public var lockSources: [Reason] = []
  /// The number of items.
  public var items: UInt64 = 0
  /// The number of collections.
  public var collections: UInt64 = 0

  /// The number of collections with an explicit lock.
  public var lockedCollections: UInt64 = 0

  /// Whether any item has an explicit lock.
  public var hasLockedItems = false

  /// Whether a deleted collection will come back when the person gives the password.
  public var hasWaitingCollections = false

  /// The number of items that only another device can open.
  public var otherDeviceItems: UInt64 = 0

  /// The progress of a change of keys.
  public struct Rotation: Equatable, Sendable {
    /// The number of items whose keys must still be wrapped again.
    public var left: UInt64 = 0
    /// The number of items in locked collections. They follow when their collections are unlocked.
    public var closed: UInt64 = 0
    /// The number of items of other devices. They follow on those devices.
    public var otherDevice: UInt64 = 0
    /// The number of items that another program put into the vault's database. They are never opened.
    public var quarantined: UInt64 = 0
    /// Whether something still depends on former tier keys.
    public var needsFormerKeys = false

    /// A rotation with nothing left to do.
    public init() {}
  }

  /// The progress of a change of keys.
  public var rotation = Rotation()
  /// The newest key epoch; 0 if there is no keybag.
  public var epoch: UInt32 = 0
  /// The moment at which the recovery code was made, in seconds since 1970; 0 if there is none.
  public var recoveryCodeCreated: UInt64 = 0
  /// Whether the login has no password, so that the vault is always unlocked.
  public var passwordless = false
  /// Whether the session's first unlock was by a login in which nobody gave a password.
  public var openedWithoutPassword = false

  /// Whether nothing has unlocked the whole vault in this session yet: no password, and no key of another kind.
  public var lacksPassword: Bool { state == .sealed || (state == .locked && openedWithoutPassword) }

  /// One way into the vault.
  public struct Protector: Equatable, Sendable {
    /// The protector's kind, with the numbers of ``Keybag/Protector/Kind``: 1 password, 2 recovery code, 3 session, 4 device key, 5
    /// finger, 6 security key.
    public var kind: UInt8
    /// The protector's state, with the numbers of ``Keybag/Protector/State``: 0 unproven, 1 proven, 2 retiring.
    public var state: UInt8
    /// The moment at which the protector was made, in seconds since 1970.
    public var created: UInt64
    /// The name that the person gave the protector; empty if there is none.
    public var name: String

    /// Makes a value from its parts.
    public init(kind: UInt8, state: UInt8, created: UInt64, name: String = "") {
      self.kind = kind
      self.state = state
      self.created = created
      self.name = name
    }
  }

  /// The ways into the vault.
  public var protectors: [Protector] = []
  /// Whether the keybag is older than the keybag that this machine used before.
  public var hasOlderKeybag = false
  /// Whether the database is older than the database that this machine used before.
  public var hasOlderDatabase = false
  /// Whether the login password was changed without Latchkey, and the vault waits for the former password.
  public var needsFormerPassword = false

  /// The generations of the vault.
  public struct History: Equatable, Sendable {
    /// Whether the daemon makes generations.
    public var isOn = false
    /// The number of generations.
    public var count: UInt32 = 0
    /// The moment at which the newest generation was made, in seconds since 1970; 0 if there is none.
    public var newest: UInt64 = 0
    /// The reason why the last generation was not made; nil if it was made.
    public var problem: Reason?

    /// A history without generations.
    public init() {}
  }

  /// The generations of the vault.
  public var history = History()

  /// The names of damaged files in the vault's folder that the daemon has put aside.
  public var damagedFiles: [String] = []

  /// Whether a finger at the locked screen unlocks the vault.
  public enum Finger: UInt8, Sendable {
    /// The keybag has no protector for a finger.
    case notAdded = 0
    /// A finger will unlock the vault after the next unlock by a password.
    case waitsForPassword = 1
    /// A finger unlocks the vault, and the TPM has the key.
    case inTPM = 2
    /// A finger unlocks the vault, and the device key service has the key in memory.
    case inMemory = 3

    /// Whether the device key service has the key.
    public var isHeld: Bool { self == .inTPM || self == .inMemory }

    /// The word for this value in JSON.
    public var name: String {
      switch self {
      case .notAdded: "not-added"
      case .waitsForPassword: "waits-for-password"
      case .inTPM: "in-tpm"
      case .inMemory: "in-memory"
      }
    }
  }

  /// Whether a finger at the locked screen unlocks the vault.
  public var finger = Finger.notAdded
  /// The reason why a finger does not unlock the vault; nil if only the password is missing.
  public var fingerProblem: Reason?

  /// An empty status.
  public init() {}

  // With these limits even the largest status, with four full lists and three texts, fits into a packet.
  private static let listLimit = 16
  private static let reasonLimit = 240
  private static let problemLimit = 1024
  private static let textLimit = 400
  private static let pathLimit = 4096
  private static let damagedLimit = 8
  private static let nameLimit = 64

  package func encode(into out: inout ByteWriter) {
    func list(_ reasons: [Reason], limit: Int = Status.reasonLimit) {
      var reasons = reasons
      if reasons.count > Status.listLimit {
        let surplus = reasons.count - Status.listLimit + 1
        reasons.removeLast(surplus)
        reasons.append(.andMore(surplus))
      }
      out.number(UInt8(reasons.count))
      for reason in reasons { reason.encode(into: &out, limit: limit) }
    }
    out.number(state.rawValue)
    out.number(UInt8((firstUnlocked ? 1 : 0) | (lockerUp ? 2 : 0) | (staged ? 4 : 0) | (memoryLocked ? 8 : 0)))
    list(lockReasons)
    list(problems, limit: Status.problemLimit)
    list(lockSources)
    let classes = self.classes.prefix(Status.listLimit)
    out.number(UInt8(classes.count))
    for one in classes { out.text(one.name, limit: Status.nameLimit) }
    for one in classes { out.number(UInt8(one.isPresent ? 1 : 0)) }
    out.text(vaultPath, limit: Status.pathLimit)
    out.number(generation)
    out.text(deviceKey, limit: Status.textLimit)
    out.text(nameOwner, limit: Status.textLimit)
    out.number(items)
    out.number(collections)
    out.number(lockedCollections)
    out.number(otherDeviceItems)
    for count in [rotation.left, rotation.closed, rotation.otherDevice, rotation.quarantined] { out.number(count) }
    out.number(UInt8(rotation.needsFormerKeys ? 1 : 0))
    out.number(epoch)
    out.number(recoveryCodeCreated)
    out.number(UInt8(passwordless ? 1 : 0))
    let found = [hasOlderKeybag, hasOlderDatabase, needsFormerPassword, hasLockedItems, hasWaitingCollections]
    out.number(found.enumerated().reduce(UInt8(0)) { $0 | ($1.element ? 1 << UInt8($1.offset) : 0) })
    out.number(UInt8(openedWithoutPassword ? 1 : 0))
    let protectors = self.protectors.prefix(Status.listLimit)
    out.number(UInt8(protectors.count))
    for protector in protectors {
      out.number(protector.kind)
      out.number(protector.state)
      out.number(protector.created)
    }
    out.number(swappableSecrets)
    out.number(UInt8(history.isOn ? 1 : 0))
    out.number(history.count)
    out.number(history.newest)
    Reason.encode(history.problem, into: &out, limit: Status.textLimit)
    let damaged = damagedFiles.prefix(Status.damagedLimit)
    out.number(UInt8(damaged.count))
    for name in damaged { out.text(name, limit: Status.nameLimit) }
    for protector in protectors { out.text(protector.name, limit: Status.nameLimit) }
    out.number(finger.rawValue)
    Reason.encode(fingerProblem, into: &out, limit: Status.reasonLimit)
  }

  package init?(decoding input: inout ByteReader) {
    do {
      guard let state = State(rawValue: try input.number()) else { return nil }
      self.state = state
      let flags: UInt8 = try input.number()
      firstUnlocked = flags & 1 != 0
      lockerUp = flags & 2 != 0
      staged = flags & 4 != 0
      memoryLocked = flags & 8 != 0
      lockReasons = try Status.reasons(&input)
      problems = try Status.reasons(&input)
      lockSources = try Status.reasons(&input)
      for name in try Status.list(&input) { classes.append(ClassState(name: name, isPresent: false)) }
      for index in classes.indices { classes[index].isPresent = try input.number(UInt8.self) == 1 }
      vaultPath = try input.text()
      generation = try input.number()
      deviceKey = try input.text()
      nameOwner = try input.text()
      items = try input.number()
      collections = try input.number()
      lockedCollections = try input.number()
      otherDeviceItems = try input.number()
      rotation.left = try input.number()
      rotation.closed = try input.number()
      rotation.otherDevice = try input.number()
      rotation.quarantined = try input.number()
      rotation.needsFormerKeys = try input.number(UInt8.self) == 1
      epoch = try input.number()
      recoveryCodeCreated = try input.number()
      passwordless = try input.number(UInt8.self) == 1
      let found: UInt8 = try input.number()
      hasOlderKeybag = found & 1 != 0
      hasOlderDatabase = found & 2 != 0
      needsFormerPassword = found & 4 != 0
      hasLockedItems = found & 8 != 0
      hasWaitingCollections = found & 16 != 0
      openedWithoutPassword = try input.number(UInt8.self) == 1
      for _ in 0..<(try input.number(UInt8.self)) {
        protectors.append(
          Protector(kind: try input.number(), state: try input.number(), created: try input.number()))
      }
      swappableSecrets = try input.number()
      history.isOn = try input.number(UInt8.self) == 1
      history.count = try input.number()
      history.newest = try input.number()
      history.problem = try Reason.optional(decoding: &input)
      damagedFiles = try Status.list(&input)
      for index in protectors.indices { protectors[index].name = try input.text() }
      guard let finger = Finger(rawValue: try input.number()) else { return nil }
      self.finger = finger
      fingerProblem = try Reason.optional(decoding: &input)
    } catch { return nil }
  }

  private static func reasons(_ input: inout ByteReader) throws(CodedReason.Unknown) -> [Reason] {
    guard let count = try? input.number(UInt8.self) else { throw CodedReason.Unknown() }
    var reasons: [Reason] = []
    for _ in 0..<count {
      guard let reason = Reason(decoding: &input) else { throw CodedReason.Unknown() }
      reasons.append(reason)
    }
    return reasons
  }

  private static func list(_ input: inout ByteReader) throws(ByteReader.Truncated) -> [String] {
    var lines: [String] = []
    for _ in 0..<Int(try input.number(UInt8.self)) { lines.append(try input.text()) }
    return lines
  }
}

/// Asks for the status.
package struct GetStatus: FieldlessMessage {
  package typealias Answer = Status
  package static let operation: UInt8 = 3
  package init() {}
}
