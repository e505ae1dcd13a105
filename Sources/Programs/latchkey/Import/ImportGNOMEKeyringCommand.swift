import ArgumentParser
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeySodium

/// `latchkey import gnome-keyring`
struct ImportGNOMEKeyringCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gnome-keyring", abstract: translated("Import the keyring files of gnome-keyring."),
    discussion: translated(
      """
      Reads every .keyring file of ~/.local/share/keyrings (of $XDG_DATA_HOME, if that is set), or the files and \
      folders that you name. gnome-keyring need not run. The password is asked for once, or is a line of standard \
      input; it is tried for each file. A keyring with another password stays behind: name that file alone, and give \
      its password. Items of the keyring 'login' and of the default keyring go into your default collection. Items of \
      any other keyring go into a collection with that keyring's label.
      """))

  @OptionGroup var choice: ImportChoice
  @Argument(
    help: ArgumentHelp(translated("Keyring files, or folders of them."), valueName: "path"), completion: .file())
  var paths: [String] = []

  func run() throws {
    let importer = try Failure.telling {
      try choice.prepare()
      let folder = ForeignFiles.dataFolder + "/keyrings"
      let files = try ForeignFiles(paths, folder: folder, ending: ".keyring", what: "keyring")
      var importer = try choice.importer(into: VaultConnection(choice.place), from: "gnome-keyring", paths)
      let password = try ImportPassword()
      let read = try files.read(&importer, what: "keyring", choice) { file throws(ForeignFileError) in
        let name = ForeignFile.name(file.path)
        return ForeignCollection(name: name, label: try KeyringFile.label(of: file.bytes, name: name), items: [])
      } _: { file throws(ForeignFileError) in
        try password.open(file.path, hasOthers: files.paths.count > 1) { given throws(ForeignFileError) in
          try KeyringFile.read(file.bytes, name: ForeignFile.name(file.path), password: given)
        }
      }
      for (path, names) in files.folders where names.contains("user.keystore") {
        importer.note(translated("\(path)/user.keystore has keys and certificates, not passwords. It was left alone."))
      }
      files.nameOthers(&importer) { ["user.keystore", "default"].contains($0) }
      // A keyring that could not be read may be the named keyring.
      if importer.report.isWhole { try choice.checkNames(among: read) }
      try importer.take(read, standard: standard(files))
      return importer
    }
    try importer.finish()
  }

  /// The name of the default keyring. A file beside the keyrings contains it.
  private func standard(_ files: ForeignFiles) -> String? {
    guard let folder = files.folders.last(where: { $0.names.contains("default") }),
      let file = try? ForeignFile("\(folder.path)/default"), file.bytes.count <= 4096
    else { return nil }
    let text = file.bytes.bytes.text
    return text.split(separator: "\n").first.map(String.init)
  }
}
