import ArgumentParser
import LatchkeyForeignKeyrings
import LatchkeyGettext

/// `latchkey import csv`
struct ImportCSVCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "csv", abstract: translated("Import passwords that a browser or a password manager exported as CSV."),
    discussion: translated(
      """
      Knows the columns of Chromium, Firefox, Apple Passwords, Bitwarden and KeePassXC by their names; --column names \
      others, such as --column password=Kennwort. A row becomes an item with the attributes xdg:schema=\
      \(PasswordTable.schema), url, server, user and field=password. Notes, keys of one-time passwords and further fields \
      become items of their own, with field=notes, totp or fields. A row without any secret stays behind and is listed.
      """))

  @OptionGroup var choice: ImportChoice
  @Option(
    help: ArgumentHelp(
      translated("What a column is called: \(Self.kinds). May be repeated."), valueName: "what=name"))
  var column: [String] = []
  @Argument(
    help: ArgumentHelp(translated("The exported file, or '-' for standard input."), valueName: "file"),
    completion: .file())
  var file: String

  func validate() throws {
    _ = try columns()
    guard choice.collection.isEmpty else {
      throw ValidationError(translated("A CSV file has no collections. --into names the one that its items come into."))
    }
  }

  private static let kinds = PasswordTable.Column.allCases.map(\.rawValue).joined(separator: ", ")

  private func columns() throws -> [PasswordTable.Column: String] {
    var named: [PasswordTable.Column: String] = [:]
    for word in column {
      let parts = word.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, let kind = PasswordTable.Column(rawValue: String(parts[0])) else {
        throw ValidationError(
          translated("--column takes what=name, such as password=Kennwort. What is one of \(Self.kinds)."))
      }
      named[kind] = String(parts[1])
    }
    return named
  }

  func run() throws {
    let importer = try Failure.telling {
      try choice.prepare()
      let table = try read()
      var importer = try choice.importer(into: VaultConnection(choice.place), from: "csv", [file])
      // "login" is the collection that everything comes into where --into names no other.
      let read = [ForeignCollection(name: "login", label: "", items: table.items)]
      try choice.checkNames(among: read)
      try importer.take(read, standard: nil)
      for row in table.empty {
        importer.leave(
          translated("row \(row.number)"), row.label, translated("it has no password, note or other secret"))
      }
      if !table.unread.isEmpty {
        let list = table.unread.joined(separator: ", ")
        importer.keep(translated("Columns that were not read: \(list). --column gives them a meaning."))
      }
      importer.read(file)
      return importer
    }
    try importer.finish()
  }

  private func read() throws -> PasswordTable.Contents {
    let opened = try ForeignFile(orInput: file)
    do { return try PasswordTable.read(opened.bytes, named: try columns()) } catch ForeignFileError.unknownFormat {
      throw Failure.file(
        translated(
          """
          \(opened.path) has no column of passwords that is known. Nothing was imported.
          Name the columns, for example --column password=Kennwort --column user=Name --column url=Adresse.
          """))
    } catch let error as ForeignFileError {
      throw Failure.file(translated("\(opened.path) \(error.explanation). Nothing was imported."))
    }
  }
}
