/// Facts about the session that are in no file.
public struct DesktopFacts: Sendable {
  /// A unit of a service manager.
  public struct Unit: Equatable, Sendable {
    /// "loaded", "not-found", "masked" …
    public let load: String
    /// "active", "inactive", "failed" …
    public let active: String

    /// Puts the values together.
    public init(load: String, active: String) {
      self.load = load
      self.active = active
    }
  }

  /// The vault's own status.
  public struct Vault: Equatable, Sendable {
    /// The place of the device key: "tpm", "host", "file", "unavailable" or empty.
    public let deviceKey: String
    /// Whether memory that holds secrets is locked.
    public let isMemoryLocked: Bool
    /// Whether the vault was opened since the session began.
    public let isFirstUnlocked: Bool
    /// Whether there is a vault.
    public let isCreated: Bool
    /// The vault's folder.
    public let path: String
    /// The vault's problems.
    public let problems: [String]
    /// The sources of news about locked screens.
    public let lockSources: [String]
    /// Whether the login password was changed without Latchkey, and the vault waits for the former password.
    public let needsFormerPassword: Bool
    /// The problems that report a finished repair.
    public let repairs: [String]
    /// The damage of the device key; nil if no damage is known.
    public let deviceDamage: DeviceDamage?
    /// Whether a finger at the lock screen unlocks the vault.
    public let hasFinger: Bool

    /// A device key that no restart brings back.
    public enum DeviceDamage: Equatable, Sendable {
      /// The device key service's own file is damaged or missing.
      case service
      /// A file that the device key service has for one user is damaged or missing.
      case user
      /// The TPM was cleared, or is another TPM.
      case chip
      /// The device key's file beside the vault is damaged.
      case file
    }

    /// Puts the values together.
    public init(
      deviceKey: String, isMemoryLocked: Bool, isFirstUnlocked: Bool, isCreated: Bool, path: String,
      problems: [String], lockSources: [String], needsFormerPassword: Bool = false,
      repairs: [String] = [], deviceDamage: DeviceDamage? = nil, hasFinger: Bool = false
    ) {
      self.deviceKey = deviceKey
      self.isMemoryLocked = isMemoryLocked
      self.isFirstUnlocked = isFirstUnlocked
      self.isCreated = isCreated
      self.path = path
      self.problems = problems
      self.lockSources = lockSources
      self.needsFormerPassword = needsFormerPassword
      self.repairs = repairs
      self.deviceDamage = deviceDamage
      self.hasFinger = hasFinger
    }
  }

  /// The owner of a name on the bus.
  public enum Owner: Equatable, Sendable {
    /// The name has no owner.
    case nobody
    /// A process owns the name; 0 if the bus cannot tell.
    case process(Int32)
  }

  /// The person.
  public var uid: UInt32
  /// The home folder.
  public var home: String
  /// The runtime folder.
  public var runtime: String
  /// The folders that are searched for programs.
  public var searchPath: [String] = ["/usr/local/bin", "/usr/bin", "/bin"]
  /// The terminal on which a prompt for this program would appear.
  public enum Terminal: Equatable, Sendable {
    /// The program has no terminal.
    case none
    /// The terminal's device could be opened for questions.
    case usable(String)
    /// The terminal cannot be used for questions. The text is its device or number.
    case unusable(String)
  }

  /// Whether this program runs where windows can be shown.
  public var hasDisplay = false
  /// The terminal of this program.
  public var terminal = Terminal.none
  /// The name of the person's account, if the account is in the local shadow file and no password fits; else nil.
  public var lockedAccount: String?
  /// SSH_AUTH_SOCK; empty if the variable is not set.
  public var agentSocket = ""
  /// The vault.
  public var vault: Known<Vault> = .unknown("")
  /// The owner of `org.freedesktop.secrets`.
  public var secretsOwner: Known<Owner> = .unknown("")
  /// The processes that own or await the name `org.freedesktop.secrets`, the owner first.
  public var secretsQueue: Known<[Int32]> = .unknown("")
  /// Names on the session bus that have an owner.
  public var ownedNames: Set<String> = []
  /// Names that have an owner, or for which the bus would start a program.
  public var busNames: Known<Set<String>> = .unknown("")
  /// Units of the user's manager, by name.
  public var userUnits: Known<[String: Unit]> = .unknown("")
  /// Units of the machine, and not of a user.
  public var systemUnits: Known<[String: Unit]> = .unknown("")

  /// A session without any other known fact.
  public init(uid: UInt32, home: String, runtime: String) {
    self.uid = uid
    self.home = home
    self.runtime = runtime
  }
}
