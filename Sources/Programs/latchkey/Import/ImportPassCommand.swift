import ArgumentParser
import Glibc
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySecretClient
import LatchkeySodium

/// `latchkey import pass`
struct ImportPassCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pass", abstract: translated("Import the passwords of pass."),
    discussion: translated(
      """
      Reads every .gpg file of ~/.password-store (of $PASSWORD_STORE_DIR, if that is set), or of the folder that you \
      name, by gpg: its agent asks for the passphrase of your key. The first line of a file becomes an item with the \
      attributes xdg:schema=\(PasswordTable.schema), name=FOLDER/FILE and field=password. The lines below the first \
      become another item, with field=notes. Folders that are links are read too. A file that cannot be read stays \
      behind and is listed.
      """))

  @OptionGroup var choice: ImportChoice
  @Argument(
    help: ArgumentHelp(translated("The folder of the password store."), valueName: "folder"), completion: .directory)
  var folder: String?

  func validate() throws {
    guard choice.collection.isEmpty else {
      throw ValidationError(
        translated("A password store has no collections. Name the collection for its items with --into."))
    }
  }

  func run() throws {
    let importer = try Failure.telling {
      try choice.prepare()
      let named = LatchkeyPosix.Process.environment["PASSWORD_STORE_DIR"]
      let folder = folder ?? named ?? ForeignFiles.home + "/.password-store"
      let store = try PasswordStore(folder)
      guard !store.entries.isEmpty || !store.unread.isEmpty else {
        throw Failure.file(translated("there is no file that ends with .gpg in \(folder), so nothing was imported."))
      }
      var importer = try choice.importer(into: VaultConnection(choice.place), from: "pass", [folder])
      for one in store.unread { importer.leave(one.name, translated("all of it"), one.reason) }
      let items = try read(store, &importer)
      // "login" is the collection for everything if --into names no other.
      try importer.take([ForeignCollection(name: "login", label: "", items: items)], standard: nil)
      note(store, in: &importer)
      if importer.report.isWhole { importer.noteFile(folder) }
      return importer
    }
    try importer.finish()
  }

  /// Names the files that are not items.
  private func note(_ store: PasswordStore, in importer: inout Importer) {
    if !store.others.isEmpty {
      let list = store.others.joined(separator: ", ")
      importer.keep(
        translated("Files of the folder that are no entries, which were left there: \(store.others.count): \(list)."))
    }
    if !store.links.isEmpty {
      let list = store.links.joined(separator: ", ")
      importer.note(translated("Folders that are links were read too; their targets stay there: \(list)."))
    }
    if !store.loops.isEmpty {
      let list = store.loops.joined(separator: ", ")
      importer.note(translated("Links to a folder that contains the link, which were not read again: \(list)."))
    }
  }

  private func read(_ store: PasswordStore, _ importer: inout Importer) throws -> [ForeignItem] {
    let progress = Progress()
    defer { progress.end() }
    var items: [ForeignItem] = []
    for (index, name) in store.entries.enumerated() {
      progress.show(translated("\(index) of \(store.entries.count) files decrypted"))
      let path = store.path(ofEntry: name)
      let file: ForeignFile
      do { file = try ForeignFile(path) } catch Failure.file(let reason) {
        importer.leave(name, translated("all of it"), reason)
        continue
      }
      // Passed by a pipe: an entry that stopped being a file must not make gpg wait.
      let outcome = try ChildProgram(name: "gpg", arguments: ["--quiet", "--decrypt"]).run(file.bytes)
      guard outcome.isDone else {
        // Most files have the same key. If the person does not give its passphrase, the command ends, instead of asking a hundred
        // times.
        if items.isEmpty {
          throw Failure.file(translated("\(path) was not decrypted, so nothing was imported: \(outcome.message)"))
        }
        importer.leave(name, translated("all of it"), outcome.message)
        continue
      }
      items += try PasswordFile.items(outcome.output, name: name, modified: time(of: path))
    }
    return items
  }

  private func time(of path: String) -> UInt64 {
    var facts = stat()
    return stat(path, &facts) == 0 ? UInt64(max(0, facts.st_mtim.tv_sec)) : 0
  }
}
