import ArgumentParser
import Glibc
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyPosix

/// `latchkey aside`
struct AsideCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "aside", abstract: translated("List the vaults that were put aside."),
    discussion: translated("Each folder holds a whole vault. The password that the vault had then unlocks it."))

  @OptionGroup var place: DaemonPlace
  @Flag(help: .translated("As JSON, with the same keys in every version."))
  var json = false

  func run() throws {
    let folders = try Failure.telling { try Self.folders(share) }
    guard !json else {
      return print(try JSONText.of(["aside": folders]))
    }
    guard !folders.isEmpty else { return print(translated("No vault was put aside.")) }
    for folder in folders { print(TerminalText.printable(folder)) }
  }

  /// The folder of the daemon's vault; without a daemon, the folder that it would use.
  private var share: String {
    let told = (try? place.status().vaultPath).flatMap(KeybagFile.home(ofFolder:))
    return KeybagFile.sharePath(home: told ?? Account(uid: getuid())?.home ?? "")
  }

  private static func folders(_ share: String) throws -> [String] {
    do {
      let folder = try Folder(path: share, owner: getuid())
      return try folder.names().filter { $0.hasPrefix(KeybagFile.asidePrefix) }.sorted().map { "\(share)/\($0)" }
    } catch {
      guard error.code != ENOENT else { return [] }
      throw Failure.file(translated("\(share) cannot be read: \(error)"))
    }
  }
}
