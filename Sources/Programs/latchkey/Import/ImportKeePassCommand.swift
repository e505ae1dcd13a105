import ArgumentParser
import Glibc
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeyPAMClient
import LatchkeySodium

/// `latchkey import keepass`
struct ImportKeePassCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keepass", abstract: translated("Import a database of KeePass or KeePassXC."),
    discussion: translated(
      """
      Reads a .kdbx file of version 3 or 4 by keepassxc-cli, which must be installed and hands the entries over by a pipe. \
      The password is asked for, or is a line of standard input. The password of an entry becomes an item with the \
      attributes xdg:schema=\(PasswordTable.schema), name, url, server, user, group and field=password. Notes and keys of \
      one-time passwords become items with field=notes or totp; a field that you added has field=custom and custom=NAME, an \
      attached file field=attachment and attachment=NAME. A reference to another entry becomes the value that it refers to, \
      or stays behind and is listed. Older states of entries and the recycle bin stay behind.
      """))

  @OptionGroup var choice: ImportChoice
  @Option(help: ArgumentHelp(translated("The key file of the database."), valueName: "file"), completion: .file())
  var keyFile: String?
  @Flag(help: .translated("The database has no password, only a key file.")) var noPassword = false
  @Argument(help: ArgumentHelp(translated("The database."), valueName: "file"), completion: .file())
  var file: String

  func validate() throws {
    guard choice.collection.isEmpty else {
      throw ValidationError(translated("A database has no collections. Name the collection for its items with --into."))
    }
  }

  func run() throws {
    let importer = try Failure.telling {
      try choice.prepare()
      // KeePassXC gets a readable file, so that its messages are about the content.
      let opened = try ForeignFile(file)
      do throws(ForeignFileError) { try KeePassHeader.check(opened.bytes) } catch {
        throw Failure.file(translated("\(file) \(error.explanation). Nothing was imported."))
      }
      var importer = try choice.importer(into: VaultConnection(choice.place), from: "keepass", [file])
      let (read, left) = try export(opened.bytes)
      for label in left {
        importer.leave(
          "login", label, translated("keepassxc-cli did not find the file, or another entry has the same path"))
      }
      for label in read.empty { importer.leave("login", label, translated("it has no password, note or other secret")) }
      for value in read.left { importer.leave("login", "\(value.label) (\(value.field))", Self.text(of: value.reason)) }
      if !read.discarded.isEmpty {
        let list = read.discarded.joined(separator: ", ")
        importer.keep(
          translated("Entries in the recycle bin, which were left there: \(read.discarded.count): \(list)."))
      }
      if read.older > 0 {
        importer.keep(translated("Older states of entries, which were left there: \(read.older)."))
      }
      // "login" is the collection for everything if --into names no other.
      try importer.take([ForeignCollection(name: "login", label: "", items: read.items)], standard: nil)
      importer.noteFile(file)
      return importer
    }
    try importer.finish()
  }

  private static func text(of reason: KeePassExport.Reason) -> String {
    switch reason {
    case .noTarget: translated("it refers to an entry or a field that does not exist")
    case .endless: translated("it refers to itself, or to an entry through more than 10 others")
    case .tooLarge: translated("the value that the entry refers to is too large for a vault")
    case .placeholder(let name):
      translated("it has the placeholder \(name), whose value only KeePass knows; write the value there instead")
    case .secretInAttribute:
      translated("it refers to a secret, which does not belong into an attribute; the item came without this attribute")
    case .encrypted: translated("its value is encrypted separately")
    case .oneTimePassword:
      translated("its settings of one-time passwords were not understood, and were imported as custom fields")
    }
  }

  /// The limits of keepassxc-cli. The cost that a header may name is far below these. But the XML in a database may be small
  /// only while it is compressed.
  private static let limits = ChildProgram.Limits(memory: 4 << 30, time: 600)

  /// A copy of the database that was checked, for keepassxc-cli: the file may have changed since.
  private func copy(of database: borrowing SecureBytes) throws -> PrivateFolder {
    let copy = try PrivateFolder(in: choice.place.folder, for: "import", file: "database.kdbx")
    do { try copy.write(database.bytes) } catch {
      let reason = String(cString: strerror(error.code))
      throw Failure.declined(translated("no copy of \(file) could be made in \(choice.place.folder): \(reason)."))
    }
    return copy
  }

  /// The contents of the database, and the labels of attached files that could not be read.
  private func export(_ database: borrowing SecureBytes) throws -> (read: KeePassExport, left: [String]) {
    let line = try password()
    // The copy must not outlive the command.
    Interruption.hold()
    defer { Interruption.release() }
    let copy = try copy(of: database)
    let outcome = try run("export", ["--format", "xml"], [], on: copy, line)
    if Interruption.hasArrived { throw Failure.cancelled }
    guard outcome.signal == 0 else {
      throw Failure.file(
        translated(
          """
          keepassxc-cli was ended by signal \(Int(outcome.signal)), so nothing was imported. It may take 4 GiB of memory and 10 \
          minutes of processor time for \(file).
          """))
    }
    guard outcome.isDone, outcome.output.count > 0 else {
      let reason = outcome.complaints.filter { !$0.hasPrefix("Enter password") }.joined(separator: " ")
      throw Failure.file(translated("\(file) was not opened, so nothing was imported. keepassxc-cli says: \(reason)"))
    }
    let progress = Progress()
    defer { progress.end() }
    do {
      var read = try KeePassExport(outcome.output) { compressed in
        let expanded = try ChildProgram(name: "gzip", arguments: ["-dc"]).run(compressed)
        guard expanded.isDone else { throw ForeignFileError.damaged }
        return expanded.output
      }
      var count = 0
      let left = try read.addFiles { entry, name in
        if Interruption.hasArrived { throw Failure.cancelled }
        count += 1
        progress.show(translated("\(count) attached files read"))
        // With --stdout, version 2.7.4 changes files that are not text.
        let attached = try run("attachment-export", ["--quiet"], [entry, name, "/dev/stdout"], on: copy, line)
        guard attached.isDone else { return nil }
        let content = attached.output
        return consume content
      }
      return (read, left)
    } catch let error as ForeignFileError {
      throw Failure.file(
        translated("the output of keepassxc-cli for \(file) \(error.explanation). Nothing was imported."))
    }
  }

  /// Runs keepassxc-cli on the copy, within its limits.
  private func run(
    _ command: String, _ options: [String], _ arguments: [String], on copy: borrowing PrivateFolder,
    _ password: borrowing SecureBytes
  ) throws -> ChildProgram.Outcome {
    var words = [command] + options
    if noPassword { words.append("--no-password") }
    if let keyFile { words += ["--key-file", keyFile] }
    // A name that begins with a dash must not become an option.
    words += ["--", copy.file] + arguments
    let outcome = try ChildProgram(name: "keepassxc-cli", arguments: words, limits: Self.limits).run(password)
    return outcome.naming(file, for: copy.file)
  }

  /// A line with the password, as keepassxc-cli reads it.
  private func password() throws -> SecureBytes {
    if noPassword { return try SecureBytes(count: 0) }
    let terminal = try TerminalConversation.asking(standardInput: isatty(STDIN_FILENO) != 1)
    var line: SecureBytes?
    terminal.answer(.secret(ImportPassword.question(file))) { line = try? Self.line(of: $0) }
    guard let password = line.take() else { throw Failure.cancelled }
    return password
  }

  private static func line(of password: borrowing SecureBytes) throws(SodiumError) -> SecureBytes {
    var line = try SecureBytes(count: password.count + 1)
    line.write(password.bytes, at: 0)
    line.write([UInt8(ascii: "\n")].span.bytes, at: password.count)
    return line
  }
}
