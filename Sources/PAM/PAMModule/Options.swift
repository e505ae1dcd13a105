import CLatchkeyHelper
import CLatchkeyPAMModule

/// The arguments of the module's line in the service file. The module never reads the environment, because the caller controls it.
struct Options {
  private(set) var debug = false
  private(set) var forbidsCreation = false
  /// A folder that replaces the home folder of the password database; empty if there is none.
  private(set) var home = Text.empty
  /// A folder that replaces /run/user/UID; empty if there is none.
  private(set) var runtime = Text.empty
  /// A file that replaces /etc/shadow; empty if there is none.
  private(set) var shadow = Text.empty
  /// A file that replaces /etc/latchkey/services; empty if there is none.
  private(set) var services = Text.empty
  /// The path of the file of services.
  private(set) var servicesPath = ("/etc/latchkey/services" as Literal).cString
  /// A socket that replaces the socket of the device key service; empty if there is none.
  private(set) var device = Text.empty
  /// The path of the device key service's socket.
  private(set) var devicePath = ("/run/latchkey/device.sock" as Literal).cString
  private(set) var helper: UnsafePointer<CChar> = latchkey_default_helper()

  /// nil if a path is not absolute. The module then does nothing at all. If it used the normal path instead, a mistyped path in a
  /// test's service file would lead to the person's real vault.
  init?(
    count: Int32, arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?, handle: OpaquePointer
  ) {
    guard let arguments else { return }
    var index = 0
    while index < Int(count) {
      defer { index = index &+ 1 }
      guard let argument = arguments[index] else { continue }
      if strcmp(argument, ("debug" as Literal).cString) == 0 {
        debug = true
      } else if strcmp(argument, ("no_create" as Literal).cString) == 0
        // The former name of `no_create`. If the module ignored it, old lines would let one-time codes create vaults.
        || strcmp(argument, ("no_found" as Literal).cString) == 0
      {
        forbidsCreation = true
      } else if Options.isPassphrase(argument) || Options.isFinger(argument) {
        continue
      } else if let path = Options.value(of: "home=", in: argument) {
        home = Text(path, limit: Request.limit)
        guard Options.isAbsolute(path, handle) else { return nil }
      } else if let path = Options.value(of: "runtime=", in: argument) {
        runtime = Text(path, limit: Request.limit)
        guard Options.isAbsolute(path, handle) else { return nil }
      } else if let path = Options.value(of: "shadow=", in: argument) {
        shadow = Text(path, limit: Request.limit)
        guard Options.isAbsolute(path, handle) else { return nil }
      } else if let path = Options.value(of: "services=", in: argument) {
        services = Text(path, limit: Request.limit)
        servicesPath = path
        guard Options.isAbsolute(path, handle) else { return nil }
      } else if let path = Options.value(of: "device=", in: argument) {
        device = Text(path, limit: Request.limit)
        devicePath = path
        guard Options.isAbsolute(path, handle) else { return nil }
      } else if let path = Options.value(of: "helper=", in: argument) {
        helper = path
        guard Options.isAbsolute(path, handle) else { return nil }
      } else {
        Log.write(LOG_WARNING, "unknown option: ", quoting: argument, to: handle)
      }
    }
  }

  /// Whether the line asks for a collection's passphrase. This does not depend on errors in the other options. Such a line is never
  /// ignored, because a stack that went on without it would let people in unasked.
  static func asksPassphrase(count: Int32, arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> Bool {
    has(count, arguments, isPassphrase)
  }

  /// Whether the line asks a question of its own, so that it does nothing for logins.
  static func answers(count: Int32, arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> Bool {
    asksPassphrase(count: count, arguments: arguments) || asksFinger(count: count, arguments: arguments)
  }

  /// Whether the line asks for a finger. Such a line does nothing else.
  static func asksFinger(count: Int32, arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?) -> Bool {
    has(count, arguments, isFinger)
  }

  private static func has(
    _ count: Int32, _ arguments: UnsafeMutablePointer<UnsafePointer<CChar>?>?,
    _ isWanted: (UnsafePointer<CChar>) -> Bool
  ) -> Bool {
    guard let arguments else { return false }
    var index = 0
    while index < Int(count) {
      if let argument = arguments[index], isWanted(argument) { return true }
      index = index &+ 1
    }
    return false
  }

  /// The flags of a request.
  ///
  /// - Parameters:
  ///   - mayCreate: whether the token may create a vault, if the options allow it.
  ///   - isBeside: whether the keys may come after the answer.
  func flags(mayCreate: Bool, isBeside: Bool) -> HelperFlags {
    let creation = forbidsCreation || !mayCreate ? HelperFlags.noCreate.rawValue : 0
    let beside = isBeside ? HelperFlags.beside.rawValue : 0
    return HelperFlags(rawValue: creation | beside | (debug ? HelperFlags.debug.rawValue : 0))
  }

  private static func isPassphrase(_ argument: UnsafePointer<CChar>) -> Bool {
    strcmp(argument, ("passphrase" as Literal).cString) == 0
  }

  private static func isFinger(_ argument: UnsafePointer<CChar>) -> Bool {
    strcmp(argument, ("finger" as Literal).cString) == 0
  }

  private static func value(of name: Literal, in argument: UnsafePointer<CChar>) -> UnsafePointer<CChar>? {
    guard strncmp(argument, name.cString, name.count) == 0 else { return nil }
    return argument + name.count
  }

  private static func isAbsolute(_ path: UnsafePointer<CChar>, _ handle: OpaquePointer) -> Bool {
    if path[0] == 0x2F { return true }
    Log.write(LOG_ERR, "nothing done: a path is not absolute: ", quoting: path, to: handle)
    return false
  }
}
