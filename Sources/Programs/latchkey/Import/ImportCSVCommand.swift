import ArgumentParser
import LatchkeyForeignKeyrings
import LatchkeyGettext

/// `latchkey import csv`
struct ImportCSVCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "csv", abstract: translated("Import passwords that a browser or a password manager exported as CSV."),
    discussion: translated(
      """
      Knows the columns of Chromium, Firefox, Apple Passwords, Bitwarden, KeePassXC, LastPass and KeePass 1.x by their names; \
      --column names others, such as --column password=Kennwort. A row becomes an item with the attributes xdg:schema=\
      \(PasswordTable.schema), url, server, user and field=password. Notes, keys of one-time passwords and further fields \
      become items of their own, with field=notes, totp or fields. A row without any secret stays behind and is listed. \
      So does a row with more fields than the first row has names.
      """))

  @OptionGroup var choice: ImportChoice
  @Option(
    help: ArgumentHelp(
      translated("The name of a column, as KIND=NAME. KIND is one of: \(Self.kinds). May be repeated."),
      valueName: "kind=name"))
  var column: [String] = []
  @Argument(
    help: ArgumentHelp(translated("The exported file, or '-' for standard input."), valueName: "file"),
    completion: .file())
  var file: String

  func validate() throws {
    _ = try columns()
    guard choice.collection.isEmpty else {
      throw ValidationError(translated("A CSV file has no collections. Name the collection for its items with --into."))
    }
  }

  private static let kinds = PasswordTable.Column.allCases.map(\.rawValue).joined(separator: ", ")

  private func columns() throws -> [PasswordTable.Column: String] {
    var named: [PasswordTable.Column: String] = [:]
    for word in column {
      let parts = word.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, let kind = PasswordTable.Column(rawValue: String(parts[0])) else {
        throw ValidationError(
          translated("--column takes KIND=NAME, such as password=Kennwort. The kinds are \(Self.kinds)."))
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
      // "login" is the collection for everything if --into names no other.
      let read = [ForeignCollection(name: "login", label: "", items: table.items)]
      try choice.checkNames(among: read)
      try importer.take(read, standard: nil)
      for row in table.left { importer.leave(translated("row \(row.number)"), row.label, Self.text(of: row.reason)) }
      for notice in Self.notices(on: table) { importer.note(notice) }
      if !table.unread.isEmpty {
        let list = table.unread.joined(separator: ", ")
        importer.keep(translated("Columns that were not read: \(list). --column gives them a meaning."))
      }
      importer.noteFile(file)
      return importer
    }
    try importer.finish()
  }

  private static func text(of reason: PasswordTable.Reason) -> String {
    switch reason {
    case .noSecret: translated("it has no password, note or other secret")
    case .tooManyFields(let line):
      translated(
        """
        it begins on line \(line) and has more fields than the first row has names, so a value with a comma or a quote is \
        probably not in quotes
        """)
    case .cutOff: translated("the file ends in the middle of this row")
    case .openQuote(let line):
      translated(
        """
        a value begins with a quote on line \(line) and does not end with one, so this row and all rows below it were not \
        read
        """)
    }
  }

  /// The ways to bring the rows that stay behind.
  private static func notices(on table: PasswordTable.Contents) -> [String] {
    var (isWronglyQuoted, canBeCut) = (false, false)
    for row in table.left {
      switch row.reason {
      case .noSecret: break
      case .tooManyFields: isWronglyQuoted = true
      case .cutOff: canBeCut = true
      case .openQuote: (isWronglyQuoted, canBeCut) = (true, true)
      }
    }
    var notices: [String] = []
    if isWronglyQuoted, table.dialect == .keePass1 {
      notices.append(
        translated(
          """
          To import such a row, put its value in quotes and write a backslash before each quote and each backslash in the \
          value: pa"s\\s becomes "pa\\"s\\\\s". Then import the file again.
          """))
    } else if isWronglyQuoted {
      notices.append(
        translated(
          """
          To import such a row, put its value in quotes and write each quote in the value twice: pa,s"s becomes "pa,s""s". \
          Then import the file again.
          """))
    }
    if canBeCut { notices.append(translated("If the file is cut off, export it once more and import it again.")) }
    if table.hasBackslashes {
      notices.append(
        translated("The columns are those of KeePass 1.x, so \\\" and \\\\ in a value were read as \" and \\."))
    }
    if table.decoded > 0 {
      notices.append(
        translated(
          """
          The columns are those of LastPass, whose extension writes & as &amp;, < as &lt; and > as &gt;. Values that were \
          read so: \(table.decoded).
          """))
    }
    if table.doubtful > 0 {
      notices.append(
        translated(
          """
          Values with &amp;, &lt; or the like, which were imported as they stand: \(table.doubtful). If the program that wrote \
          the file means & and < by them, correct the file and import it again.
          """))
    }
    if table.several > 0 {
      notices.append(
        translated("Rows with several addresses: \(table.several). 'server' has the first one, 'url' has all of them."))
    }
    return notices
  }

  private func read() throws -> PasswordTable.Contents {
    let opened = try ForeignFile(orInput: file)
    do { return try PasswordTable.read(opened.bytes, named: try columns()) } catch ForeignFileError.unknownFormat {
      throw Failure.file(
        translated(
          """
          \(opened.path) has no column of passwords that is known. Nothing was imported.
          Name the columns, for example --column password=Kennwort --column user=Name --column url=Adresse.
          Commas must separate them. If the file has semicolons or tabs instead, save it anew with commas.
          """))
    } catch let error as ForeignFileError {
      throw Failure.file(translated("\(opened.path) \(error.explanation). Nothing was imported."))
    }
  }
}
