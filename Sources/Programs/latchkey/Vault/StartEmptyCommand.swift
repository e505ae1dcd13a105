import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyPosix

/// `latchkey start-empty`
struct StartEmptyCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "start-empty", abstract: translated("Put the vault aside, so that an empty one takes its place."),
    discussion: translated(
      """
      Use it when nobody knows a former password or the recovery code ('latchkey unlock' asks for both). Nothing in the \
      vault is changed or deleted: its folder is renamed, and can get its name back. 'latchkey aside' lists such folders.
      """))

  @OptionGroup var place: DaemonPlace
  @Flag(help: .translated("Do not ask for confirmation."))
  var yes = false

  func run() throws {
    try Failure.telling {
      let status = try place.status()
      let folder = status.vaultPath
      if !yes { try Self.confirm(folder, items: status.items) }
      let client = try place.connect()
      do {
        let path = try client.ask(
          PutVaultAside(folder: folder), until: LatchkeyPosix.Process.now + Self.answerLimit
        ).path
        print(translated("The vault is \(TerminalText.printable(path)) now. Nothing in it was changed."))
      } catch ControlError.declined(let reason) { throw Failure.declined(reason.told) }
      print(
        translated(
          "Your login password creates an empty one: log out and in again, run 'latchkey unlock', or wait until a program asks for a secret."
        )
      )
    }
  }

  /// The vault first moves the entries of its log into the database.
  private static let answerLimit = 30_000

  /// Makes the person type the folder's name, because nobody does this by mistake.
  private static func confirm(_ folder: String, items: UInt64) throws {
    try Confirmation.requireTerminal()
    let name = folder.split(separator: "/").last.map { String($0) } ?? folder
    print(
      items == 0
        ? translated("Programs will find nothing of this vault any more, until you put the folder back.")
        : translated(
          "Programs will find none of their secrets any more (\(items) of them), until you put the folder back.")
    )
    print(
      translated("If you want that, type the name of the vault's folder, \(TerminalText.printable(name)): "),
      terminator: "")
    fflush(nil)
    guard readLine() == name else {
      throw Failure.declined(translated("that is not the folder's name, so nothing was done."))
    }
  }
}
