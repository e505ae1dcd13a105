// latchkey: the command line of the vault.
//
// One type is one command, and its file has the command's name: `GetCommand.swift` is `latchkey get`.
// ArgumentParser reads the arguments. The rooms are folders: Items, Run, Import, Export, Backup,
// History, Vault, Keys, Doctor, Switch, Rules, SSH, OtherPrograms, Prompts and InputAndOutput.
// Sources/Programs/README.md says what each has.
//
//     latchkey add --label Mail service=mail
//     latchkey get service=mail
//
// Items go over the session bus, as for any other client (`VaultConnection`). The control socket has
// what D-Bus has no words for: the status, backups, generations, the log. `latchkey-derive` is started
// for anything that needs the login password or the recovery code, so this program derives no key.
//
// The program promises that a secret is never an argument, is in locked memory, and goes to standard
// output only if that is wanted. Text from elsewhere is made safe before a terminal shows it. With
// `--json` keys and codes stay the same in every version and language. An exit status says what kind of
// failure it was. A command that is interrupted leaves nothing half done, and removes its temporary
// files.
//
// It has no way to an item that other clients do not have. It keeps no state but records below
// ~/.local/state, such as those of imports and of the switch. It starts no daemon by itself: the bus
// does. Its texts are translated, and po/ has them. The manual pages in docs/man are the reference.

import ArgumentParser
import Glibc
import LatchkeyControl
import LatchkeyGcrypt
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import LatchkeyText

/// The command line of the vault.
@main
struct Latchkey: ParsableCommand {
  /// The version of all programs. The packages repeat it: debian/changelog, packaging/arch/PKGBUILD and
  /// packaging/fedora/latchkey.spec, which Tests/Repository/test_definitions.py compares.
  static let version = "0.1.0"

  static let configuration = CommandConfiguration(
    commandName: "latchkey",
    abstract: translated("The credential vault of your desktop session."),
    discussion: translated(
      """
      Exit status: 0 done; 1 it could not be done (a wrong password, a refusal, an error in a file); 2 there is no such \
      item; 3 no vault is running; 4 done, but not all of it (backup, restore, history, rm, import, export), \
      or there is something to fix (doctor) or left to you (switch); 64 wrong usage.
      Completions: latchkey --generate-completion-script bash (or zsh, fish).
      """),
    version: version,
    subcommands: [
      StatusCommand.self, LockCommand.self, UnlockCommand.self, FindCommand.self, GetCommand.self, AddCommand.self,
      EditCommand.self, RemoveCommand.self, CollectionCommand.self, PassphraseCommand.self, BackupCommand.self,
      RestoreCommand.self,
      HistoryCommand.self, ImportCommand.self, ExportCommand.self,
      RotateCommand.self, RecoveryCommand.self, ProtectorCommand.self, RulesCommand.self, DeviceCommand.self,
      RunCommand.self,
      LogCommand.self, SSHCommand.self, CredentialCommand.self, StartEmptyCommand.self, AsideCommand.self,
      DoctorCommand.self,
      SwitchCommand.self,
    ])

  @OptionGroup var place: DaemonPlace

  /// Like ArgumentParser's own, except that a message about wrong usage does not repeat the arguments of a command that takes
  /// secrets. An argument may be a secret in the wrong place.
  static func main() {
    // A person may end the command while it has a secret or a passphrase.
    Sodium.eraseWhenEnded(and: Gcrypt.eraseAll)
    // JSON and completions are for programs, so they are the same in every language.
    let isForPrograms = CommandLine.arguments.contains { $0 == "--json" || $0 == "--generate-completion-script" }
    if !isForPrograms { Language.begin() }
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch {
      let words = CommandLine.arguments.dropFirst()
      guard exitCode(for: error) == .validationFailure, words.contains(where: { $0 == "add" || $0 == "edit" }) else {
        exit(withError: error)
      }
      var message = fullMessage(for: error)
      for word in words.sorted(by: { $0.count > $1.count }) {
        message = message.replacing(text: "'\(word)'", with: "'…'")
        if let equals = word.firstIndex(of: "=") {
          message = message.replacing(text: "'\(word[equals...].dropFirst())'", with: "'…'")
        }
      }
      StandardStream.error.show(message + "\n")
      Glibc.exit(exitCode(for: error).rawValue)
    }
  }
}

/// The place of the daemon's socket.
struct DaemonPlace: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      translated("The runtime folder with the control socket."),
      discussion: translated("By default $XDG_RUNTIME_DIR, or /run/user/UID."),
      valueName: "dir"))
  var runtime: String?

  var folder: String {
    if let runtime { return runtime }
    if let set = LatchkeyPosix.Process.environment["XDG_RUNTIME_DIR"], set.hasPrefix("/") { return set }
    return ControlSocket.runtimeFolder(uid: getuid())
  }

  /// The vault's status.
  func status() throws -> Status {
    try connect().ask(GetStatus(), until: LatchkeyPosix.Process.now + StatusCommand.answerLimit)
  }

  /// Whether the status shows a folder in which no vault was created yet. A damaged vault has files.
  func lacksVault(_ status: Status) -> Bool {
    status.generation == 0 && access("\(status.vaultPath)/keybag", F_OK) != 0
  }

  /// Whether a keybag waits for its database, which the next password creates.
  func awaitsDatabase(_ status: Status) -> Bool {
    guard let folder = try? Folder(path: status.vaultPath, owner: getuid()), KeybagFile.awaitsDatabase(in: folder)
    else { return false }
    return (try? KeybagFile.load(from: folder))?.awaitsDatabase ?? false
  }

  /// Connects, or ends the program with advice.
  func connect() throws -> ControlClient {
    do {
      return try ControlClient(runtime: folder, uid: getuid())
    } catch ControlError.strangeDaemon {
      throw Failure.strangeDaemon(ControlSocket.path(runtime: folder))
    } catch ControlError.noDaemon {
      throw Failure.noDaemon(ControlSocket.path(runtime: folder))
    }
  }
}
