import ArgumentParser
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeySodium
import LatchkeyText

/// `latchkey import oo7`
struct ImportOO7Command: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "oo7", abstract: translated("Import the keyring files of oo7, and of sandboxed applications."),
    discussion: translated(
      """
      Reads every .keyring file of ~/.local/share/keyrings/v1 (of $XDG_DATA_HOME, if that is set), or the files and \
      folders that you name. oo7 need not run. The password is asked for once, or is a line of standard input; it is \
      tried for each file. Items of the keyring 'login' go into your default collection. Items of any other keyring \
      go into a collection with that keyring's name.
      With --app it reads the file of a sandboxed application, ~/.var/app/ID/data/keyrings/default.keyring. The \
      password of that file is the secret that the portal gave the application. Your vault must have that secret, as \
      the item with the attribute app_id. Import the keyrings of your session first.
      """))

  @OptionGroup var choice: ImportChoice
  @Option(
    help: ArgumentHelp(
      translated("Import the file of this sandboxed application, with the secret that your vault has for it."),
      valueName: "id"))
  var app: String?
  @Argument(
    help: ArgumentHelp(translated("Keyring files, or folders of them."), valueName: "path"), completion: .file())
  var paths: [String] = []

  func run() throws {
    let importer = try Failure.telling {
      try choice.prepare()
      // The portal's secret does not open other files beside it.
      let own = app.map { ["\(ForeignFiles.home)/.var/app/\($0)/data/keyrings/default.keyring"] } ?? []
      let files = try ForeignFiles(
        paths.isEmpty ? own : paths, folder: ForeignFiles.dataFolder + "/keyrings/v1", ending: ".keyring",
        what: "keyring")
      let vault = try VaultConnection(choice.place)
      var importer = try choice.importer(into: vault, from: "oo7", paths)
      let password = try password(vault)
      let read = try files.read(&importer, what: "keyring", choice) { file throws(ForeignFileError) in
        let name = app ?? ForeignFile.name(file.path)
        return ForeignCollection(name: name, label: try KeyringFile.label(of: file.bytes, name: name), items: [])
      } _: { file throws(ForeignFileError) in
        try password.open(file.path, hasOthers: files.paths.count > 1) { given throws(ForeignFileError) in
          try KeyringFile.read(file.bytes, name: app ?? ForeignFile.name(file.path), password: given)
        }
      }
      files.nameOthers(&importer) { _ in false }
      if importer.report.isWhole { try choice.checkNames(among: read) }
      try importer.take(read, standard: "default")
      return importer
    }
    try importer.finish()
  }

  /// The password for the files: from a person, or the secret that the portal gave an application.
  private func password(_ vault: VaultConnection) throws -> ImportPassword {
    guard let app else { return try ImportPassword() }
    let found = try vault.search(["app_id": app])
    guard let path = found.first, found.count == 1 else {
      throw Failure.noItem(
        found.isEmpty
          ? translated(
            """
            the vault has no item with the attribute app_id=\(app), so nothing was imported.
            Import the keyrings of your session first. 'latchkey find app_id=\(ShellCommand.quoted(app))' shows what there is.
            """)
          : translated(
            """
            the vault has several items with the attribute app_id=\(app), so nothing was imported.
            Import the keyrings of your session first. 'latchkey find app_id=\(ShellCommand.quoted(app))' shows what there is.
            """))
    }
    let channel = try vault.openChannel()
    let secret = try vault.opening(path, asking: choice.isAsking) { try vault.secret(of: path, by: channel) }
    return try ImportPassword(known: try secret.withBytes { try SecureBytes(copying: $0) })
  }
}
