import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyItemProtection
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeySodium

/// `latchkey unlock`
struct UnlockCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unlock", abstract: translated("Ask for your password and unlock the vault."),
    discussion: translated(
      """
      PAM asks for it (service latchkey-unlock), so give your login password; your administrator's rules apply. A \
      collection with a passphrase of its own requires that too (--collection), once the vault is unlocked.
      """))

  @OptionGroup var place: DaemonPlace
  @OptionGroup var asking: RootKeyAsking
  @Option(
    help: ArgumentHelp(
      translated("Ask for the passphrase of this collection instead: its label, or the last part of its object path."),
      valueName: "name"))
  var collection: String?
  @Flag(
    help: .translated("Ask for the recovery code, then for your login password, which unlocks the vault from then on."))
  var recovery = false
  @Flag(help: .translated("Ask for the PIN of your security key, and for a touch, instead of your password."))
  var securityKey = false
  @Flag(
    help: .translated(
      """
      After a login in which nobody gave a password, have a window ask for the PIN of your security key, if it is connected. \
      Otherwise do nothing. Desktops run this when a session begins.
      """))
  var afterLogin = false

  func validate() throws {
    if afterLogin && (securityKey || recovery || collection != nil || asking.stdin) {
      throw ValidationError(translated("--after-login asks in a window. Give only that option."))
    }
    if securityKey && (recovery || collection != nil) {
      throw ValidationError(translated("--security-key unlocks the vault by itself. Give only that option."))
    }
    if recovery && collection != nil {
      throw ValidationError(translated("--recovery unlocks the vault and not a collection. Give only one of the two."))
    }
  }

  func run() throws {
    if afterLogin { return try Failure.telling { try Self.askAfterLogin(asking, at: place) } }
    if let collection {
      return try Failure.telling {
        try PassphraseAsking.ask(.collection, collection: collection, at: place, asking.stdin, asking.pamFolder)
        print(translated("The collection is unlocked."))
      }
    }
    if recovery { return try Failure.telling { try Self.recover(asking, at: place) } }
    if securityKey { return try Failure.telling { try Self.unlockBySecurityKey(asking, at: place) } }
    try Failure.telling {
      // The password is in this process for a moment.
      try LatchkeyPosix.Process.forbidInspection()
      try Sodium.initialize()
      let before = try status()
      if Self.isDone(before) { return print(translated("The vault is unlocked already.")) }
      guard !before.hasLostVault else {
        let ways = StatusCommand.waysWithoutVault(before).joined(separator: "\n")
        throw Failure.stillLocked(translated("the vault's files are missing, so it cannot be unlocked:") + "\n" + ways)
      }
      guard !before.passwordless else {
        return print(
          translated(
            "Your login has no password: the vault is unlocked, and its collections unlock when a program needs them."))
      }
      // No answer would help, and a wrong one would count.
      if before.state == .locked, before.lockerUp, !before.needsFormerPassword { throw Self.behindLocker }
      guard let account = Account(uid: getuid()) else { throw Failure.unavailable(translated("you have no account")) }
      let creates = Self.hasNoVault(before)
      guard !creates || !SessionQuestions.isSystemAccount else {
        throw Failure.declined(SessionQuestions.lackOfVault)
      }
      let conversation = try TerminalConversation.asking(standardInput: asking.stdin)
      if creates { print(Self.creation) }
      if !asking.stdin, before.protectors.contains(where: { ListedProtector($0).isSecurityKey }) {
        print(translated("A security key unlocks the vault too: 'latchkey unlock --security-key'."))
      }
      let asked = TranslatedConversation(conversation)
      let outcome = Authentication.run(
        service: "latchkey-unlock", user: account.name, terminal: ttyname(0).map { String(cString: $0) },
        folder: asking.pamFolder, createsVault: creates, conversation: asked,
        again: conversation.tries(
          asking.stdin ? 1 : Self.tryCount, saying: translated("The password was not accepted. Try again.")
        ) {
          (try? status()).map(Self.isDone) ?? false
        })
      // The vault's state counts, and not PAM's result. After an administrator has changed the login password, PAM refuses the old
      // one, but the old one still opens the vault.
      let after = try status()
      if Self.isDone(after) {
        return print(creates ? translated("The vault is created, and unlocked.") : translated("The vault is unlocked."))
      }
      switch outcome {
      // If standard input has no more lines, the message names the next question of PAM.
      case _ where conversation.wasCancelled && !(asking.stdin && after.needsFormerPassword): throw Failure.cancelled
      case .refused(let text, let isPlain): throw Failure.refused(isPlain ? nil : text, createsVault: creates)
      case .unavailable(let phrase): throw Failure.unavailable(phrase.translated)
      case .accepted: break
      }
      switch after.state {
      case .unlocked where after.needsFormerPassword:
        throw Failure.declined(translated("the vault is unlocked, but \(Self.changed)"))
      case .unlocked: throw Failure.stillLocked(Self.reason(after))
      case .locked where after.lockerUp:
        throw Self.behindLocker
      case .locked, .sealed: throw Failure.stillLocked(Self.reason(after, formerCount: asked.formerCount))
      }
    }
  }

  private func status() throws -> Status {
    try place.connect().ask(GetStatus(), until: LatchkeyPosix.Process.now + StatusCommand.answerLimit)
  }

  /// The number of times that a person may answer on a terminal, as with su and sudo.
  static let tryCount = 3

  static func isDone(_ status: Status) -> Bool {
    status.state == .unlocked && status.lockedCollections == 0 && !status.hasLockedItems && !status.needsFormerPassword
      && !status.hasWaitingCollections
  }

  private static func hasNoVault(_ status: Status) -> Bool { status.generation == 0 && status.problems.isEmpty }

  /// The sentence for a person without a vault. The local shadow file does not know every password, so PAM is asked anyway.
  private static var creation: String {
    StatusCommand.waysWithoutPassword.map { ways in
      translated(
        "You have no vault yet, and \(ways). If your password is kept elsewhere, as by Kerberos, it creates the vault.")
    } ?? translated("You have no vault yet: your login password creates it, and unlocks it from then on.")
  }

  private static var behindLocker: Failure {
    .stillLocked(translated("the screen is locked, so only the screen locker unlocks the vault."))
  }

  private static let changed =
    translated(
      "your login password was changed without Latchkey, and neither the former one nor the recovery code was given.")

  /// - Parameter formerCount: the number of the person's answers to the question for the former password or the recovery code.
  private static func reason(_ status: Status, formerCount: Int = 0) -> String {
    // Each answer was wrong, and the problem's text would advise the step that the person just took.
    if status.needsFormerPassword, formerCount > 0 {
      return
        (formerCount == 1
        ? translated("that was neither the former password nor the recovery code.")
        : translated("none of the \(formerCount) answers was the former password or the recovery code."))
        + "\n"
        + translated("Run 'latchkey unlock' again to try another. If you have neither, run 'latchkey start-empty'.")
    }

    if hasNoVault(status), SessionQuestions.lacksRoom(status.vaultPath) {
      return "\(PromptOutcome.fullDisk). " + translated("Free some space, then run this again.")
    }
    if hasNoVault(status) {
      return translated(
        """
        no vault was created. The system log has a line of pam_latchkey that says why. A login with your password creates \
        one as well.
        """)
    }
    if !status.problems.isEmpty {
      return translated("the vault cannot be unlocked:") + "\n"
        + (status.problems.map(\.told) + status.waysToRepair).map { "  " + $0 }.joined(separator: "\n")
    }
    return translated(
      """
      your password was right, but the vault is still locked. If it was locked meanwhile, run this again. Otherwise it has \
      an older password, or pam_latchkey.so is not in /etc/pam.d/latchkey-unlock. The system log has a line of pam_latchkey \
      that says which.
      """)
  }
}
