import Glibc

/// The size of an exploration's world, and the steps that are always possible in it.
struct Universe: Sendable, CustomStringConvertible {
  let description: String
  var desktops = 0
  var terminals = 0
  var screenSavers = 0
  var hasGreeter = false
  var hasLogind = true
  /// Whether only the other worlds explore logins without a password.
  var isLarge = false
  var steps: [Step] = often + rare

  private static let rare: [Step] = [
    .lockSignal("99"), .hibernate, .keysFailed, .vaultPutAside, .passwordless(true), .passwordless(false),
  ]
  private static let often: [Step] = [.lockCommand, .sleep(true), .sleep(false)]

  /// Small worlds. Any two events meet in one of them, and most groups of three do. Each pair of the two largest worlds is in another
  /// world too, so only the part `damage`, which sets LATCHKEY_EVERY_CASE, walks through these two.
  static let all = small + (getenv("LATCHKEY_EVERY_CASE") == nil ? [] : large)

  private static let small = [
    Universe(description: "a desktop, a greeter, a screen saver", desktops: 1, screenSavers: 1, hasGreeter: true),
    Universe(
      description: "a desktop, a terminal, a greeter, a screen saver", desktops: 1, terminals: 1, screenSavers: 1,
      hasGreeter: true, isLarge: true, steps: often),
    Universe(description: "two desktops, a screen saver", desktops: 2, screenSavers: 1, steps: often),
    Universe(description: "a desktop, two screen savers", desktops: 1, screenSavers: 2),
    Universe(description: "no logind", terminals: 1, screenSavers: 2, hasLogind: false),
  ]

  private static let large = [
    Universe(description: "two desktops, a greeter", desktops: 2, hasGreeter: true, isLarge: true, steps: often),
    Universe(description: "two terminals, a screen saver", terminals: 2, screenSavers: 1),
  ]
}
