/// The one byte that the helper answers, which the module logs.
enum DeriveResult: UInt8 {
  /// The daemon took the keys; of a passphrase: the collection is open; of a command: it is done.
  case unlocked = 0
  /// The daemon wanted none.
  case nothingNeeded = 1
  /// Nobody listens at the control socket.
  case noDaemon = 2
  /// There is no vault, and none was to be founded.
  case noVault = 3
  /// A vault was founded.
  case founded = 4
  /// No protector opens with this password, or the collection does not with this passphrase.
  case wrongPassword = 5
  /// The daemon may not be unlocked by this authentication, or there is no such prompt.
  case refused = 6
  /// The vault's files cannot be used.
  case damaged = 7
  /// The daemon did not answer in time.
  case daemonSilent = 8
  /// Argon2id's memory could not be had.
  case noMemory = 9
  /// The vault's folder cannot be read or made.
  case homeUnavailable = 10
  /// The request was not one.
  case badRequest = 11
  /// Anything else.
  case internalError = 12
  /// The daemon knows that the session ends.
  case closed = 13
  /// There are too many generations of keys that something still hangs on.
  case tooManyEpochs = 14
  /// The keybag has new keys, but the daemon did not take them: it goes on at the next unlock.
  case begun = 15
  /// The login has no password, and the vault goes by that.
  case passwordless = 16
  /// Nobody gave a password, and what is readable behind the locked screen is open.
  case sessionOpened = 20
  /// The device key service gives this login no key for that; of a command: it wraps none.
  case noDeviceKey = 21
  /// The administrator's list of services is there, but could be somebody else's.
  case servicesUnbelieved = 22
  /// A login of the same moment changed the keybag, again and again.
  case overtaken = 23
  /// The caller waits no longer, and the work goes on without it. Answered by the supervisor.
  case goesOn = 24
  /// It took so long until the daemon could be told that a lock or a logout could be later than the password.
  case late = 25
}
