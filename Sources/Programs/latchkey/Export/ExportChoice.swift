import ArgumentParser
import Glibc
import LatchkeyGettext
import LatchkeyItemProtection
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeySodium

/// The options of every export.
struct ExportChoice: ParsableArguments {
  @OptionGroup var place: DaemonPlace
  @OptionGroup var prompts: PromptChoice
  @OptionGroup var asking: PresenceAsking
  @Option(
    help: ArgumentHelp(translated("Only this collection, by its label or name. May be repeated."), valueName: "name"))
  var collection: [String] = []
  @Flag(help: .translated("Also items whose class keeps them on this device.")) var withThisDeviceOnly = false
  @Flag(
    help: .translated(
      "Also items that require more than an unlocked session. You are asked for what each one requires."))
  var withRequirements = false
  @Flag(help: .translated("Say what would be exported and what would be left out, and write nothing.")) var dryRun =
    false
  @Flag(help: .translated("Report as JSON, with the same keys in every version.")) var json = false

  /// Whether the person may be asked.
  var isAsking: Bool { !prompts.isForbidden }

  /// Prepares the process for secrets, which are in it for a moment.
  func prepare() throws {
    try LatchkeyPosix.Process.forbidInspection()
    try Sodium.initialize()
  }

  /// Asks whether the person is there, so that nobody else takes all secrets at a screen that was left unlocked. This is no
  /// protection from the person's programs, because each can read the same items one by one.
  ///
  /// A locked vault must be unlocked first, for which the person is asked too. That answer does not count here, because the screen
  /// may have been unlocked meanwhile, and other programs share the prompt.
  ///
  /// - Returns: the terminal for further questions; nil if nobody was asked.
  @discardableResult
  func askForPresence() throws -> TerminalConversation? {
    let status = try place.status()
    guard !status.passwordless else { return nil }
    // The question comes first: if nobody can be asked, the vault need not be unlocked either.
    let terminal = try asking.conversation()
    if status.state != .unlocked, isAsking, !asking.stdin {
      let connection = try VaultConnection(place)
      try connection.unlock(ListedCollection.folder + "login")
      guard try place.status().state == .unlocked else {
        throw Failure.stillLocked(
          translated(
            """
            the vault is locked (\(PromptOutcome.words(connection.lastOutcome))), so nothing was exported.
            Run 'latchkey unlock', then this again.
            """))
      }
    }
    try asking.check(terminal)
    return terminal
  }

  /// Whether the collection was chosen.
  func takes(_ collection: ListedCollection) -> Bool {
    self.collection.isEmpty || self.collection.contains { $0 == collection.label || $0 == collection.name }
  }

  /// The reason why an item is left out without a special option; nil if it is exported.
  func objection(to item: ListedItem) -> String? {
    if let accessibility = item.accessibility, !accessibility.migrates, !withThisDeviceOnly {
      return translated("its class, \(accessibility.name), keeps it on this device; --with-this-device-only exports it")
    }
    if let require = item.require, !require.isEmpty, !withRequirements {
      return translated("it requires \(require); --with-requirements exports it")
    }
    return nil
  }
}
