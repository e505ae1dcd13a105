import ArgumentParser
import Control
import Foundation

/// The command line of the vault.
@main
struct Latchkey: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "latchkey",
    abstract: "The credential vault of your desktop session.",
    discussion: """
      Exit status: 0 done; 1 it could not be done (a wrong password, a refusal, an error in a file); 2 done, but not all of it (backup, restore); 3 no vault is running; 64 wrong usage.
      Completions: latchkey --generate-completion-script bash (or zsh, fish).
      """,
    version: "0.1.0",
    subcommands: [
      StatusCommand.self, LockCommand.self, UnlockCommand.self, PassphraseCommand.self, RulesCommand.self,
      BackupCommand.self, RestoreCommand.self,
    ])

  @OptionGroup var place: Place
}

/// Where the daemon is.
struct Place: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The runtime folder with the control socket.", discussion: "By default $XDG_RUNTIME_DIR, or /run/user/UID.",
      valueName: "dir"))
  var runtime: String?

  private var folder: String {
    if let runtime { return runtime }
    if let set = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"], set.hasPrefix("/") { return set }
    return ControlSocket.runtimeFolder(uid: getuid())
  }

  /// Connects, or ends the program with what to do about it.
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
