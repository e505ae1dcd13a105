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
      Reads every .gpg file of ~/.password-store (of $PASSWORD_STORE_DIR, where that is set), or of the folder that you \
      name, by gpg: its agent asks for the passphrase of your key. The first line of a file becomes an item with the \
      attributes xdg:schema=\(PasswordTable.schema), name=FOLDER/FILE and field=password. The lines below it become another \
      one, with field=notes.
      """))

  @OptionGroup var choice: ImportChoice
  @Argument(
    help: ArgumentHelp(translated("The folder of the password store."), valueName: "folder"), completion: .directory)
  var folder: String?

  func validate() throws {
    guard choice.collection.isEmpty else {
      throw ValidationError(
        translated("A password store has no collections. --into names the one that its items come into."))
    }
  }

  func run() throws {
    let importer = try Failure.telling {
      try choice.prepare()
      let named = LatchkeyPosix.Process.environment["PASSWORD_STORE_DIR"]
      let folder = folder ?? named ?? ForeignFiles.home + "/.password-store"
      let names = try files(of: folder)
      var importer = try choice.importer(into: VaultConnection(choice.place), from: "pass", [folder])
      let items = try read(names, of: folder, &importer)
      // "login" is the collection that everything comes into where --into names no other.
      try importer.take([ForeignCollection(name: "login", label: "", items: items)], standard: nil)
      let others = others(in: folder)
      if others > 0 {
        importer.keep(translated("Files of the folder that are no entries, which were left there: \(others)."))
      }
      if importer.report.isWhole { importer.read(folder) }
      return importer
    }
    try importer.finish()
  }

  /// The entries, without the ending of their files. Folders whose name begins with a dot are Git's and pass's own.
  private func files(of folder: String) throws -> [String] {
    guard let names = try? ForeignFiles.paths(below: folder) else {
      throw Failure.file(translated("\(folder) cannot be read, so nothing was imported."))
    }
    let found = names.filter { name in
      name.hasSuffix(".gpg") && !name.split(separator: "/").contains { $0.hasPrefix(".") }
    }
    guard !found.isEmpty else {
      throw Failure.file(translated("there is no file that ends with .gpg in \(folder), so nothing was imported."))
    }
    return found.map { String($0.dropLast(4)) }.sorted()
  }

  /// How many files the folder has that are neither entries nor pass's and Git's own.
  private func others(in folder: String) -> Int {
    let names = (try? ForeignFiles.paths(below: folder)) ?? []
    return names.count { name in
      let parts = name.split(separator: "/").map(String.init)
      guard let last = parts.last, parts.first != ".git", parts.first != ".extensions" else { return false }
      let isEntry = name.hasSuffix(".gpg") && !parts.contains { $0.hasPrefix(".") }
      guard !isEntry, ![".gpg-id", ".gpg-id.sig", ".gitattributes", ".gitignore"].contains(last) else { return false }
      var kind = stat()
      return stat("\(folder)/\(name)", &kind) == 0 && kind.st_mode & S_IFMT != S_IFDIR
    }
  }

  private func read(
    _ names: [String], of folder: String, _ importer: inout Importer
  ) throws -> [ForeignItem] {
    let nothing = try SecureBytes(count: 0)
    let progress = Progress()
    defer { progress.end() }
    var items: [ForeignItem] = []
    for (index, name) in names.enumerated() {
      progress.show(translated("\(index) of \(names.count) files decrypted"))
      let path = "\(folder)/\(name).gpg"
      // gpg takes what begins with a dash behind these two for a file.
      let program = ChildProgram(name: "gpg", arguments: ["--quiet", "--yes", "--decrypt", "--", path])
      let outcome = try program.run(nothing)
      guard outcome.isDone else {
        // Most of them have the same key. A person who does not give its passphrase is not asked a hundred times.
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
    return lstat(path, &facts) == 0 ? UInt64(max(0, facts.st_mtim.tv_sec)) : 0
  }
}
