import ArgumentParser
import Glibc
import LatchkeyGettext
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeySodium
import LatchkeyText

/// `latchkey export keepass`
struct ExportKeePassCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keepass", abstract: translated("Export into a new database of KeePass, encrypted with a password."),
    discussion: translated(
      """
      Writes a .kdbx file with keepassxc-cli, which must be installed and gets the entries through a pipe. You are \
      asked twice for the new password; with --stdin it is the line after the login password. A login becomes an \
      entry with its notes, one-time password, fields and attached files. Any other item becomes an entry with its \
      attributes as fields, by which KeePassXC's own Secret Service finds it. A secret that is not text becomes an \
      attached file.
      """))

  @OptionGroup var choice: ExportChoice
  @Flag(help: .translated("Replace the file if it exists.")) var force = false
  @Argument(help: ArgumentHelp(translated("The database to write."), valueName: "file"), completion: .file())
  var file: String

  func run() throws {
    let report = try Failure.telling {
      guard file != "-" else {
        throw Failure.declined(
          translated("a database is written to a file only: give its name, such as Passwords.kdbx."))
      }
      try Failure.checkNew(file, replacing: force)
      try choice.prepare()
      let password = choice.dryRun ? try SecureBytes(count: 0) : try asked()
      let report = try written(password)
      // The unfinished file has been removed by now.
      if report == nil { Interruption.release() }
      guard let report else { throw Failure.cancelled }
      return report
    }
    print(choice.json ? try JSONText.of(report) : report.text)
    if !report.isWhole { throw ExitCode(4) }
  }

  /// The new password in two lines, as keepassxc-cli reads it.
  private func asked() throws -> SecureBytes {
    let terminal = try choice.askForPresence() ?? choice.asking.conversation()
    var given: SecureBytes?
    let question = translated("New password for '\(TerminalText.printable(file))': ")
    if choice.asking.stdin {
      terminal.answer(.secret(question)) { given = try? SecureBytes(copying: $0.bytes) }
    } else {
      RepeatedConversation(terminal, question: question).answer(.secret(question)) {
        given = try? SecureBytes(copying: $0.bytes)
      }
    }
    guard let password = given.take() else { throw Failure.cancelled }
    guard password.count > 0 else {
      throw Failure.declined(
        translated("a database without a password would not be encrypted, so nothing was written."))
    }
    var lines = try SecureBytes(count: 2 * password.count + 2)
    for start in [0, password.count + 1] {
      lines.write(password.bytes, at: start)
      lines.write([UInt8(ascii: "\n")].span.bytes, at: start + password.count)
    }
    return lines
  }

  private func written(_ password: borrowing SecureBytes) throws -> ExportReport? {
    var source = try ExportSource(VaultConnection(choice.place), choice)
    var document = choice.dryRun ? nil : KeePassDocument()
    guard try source.pour(into: &document) else { return nil }
    guard var document else { return source.report }
    // An interruption must also remove the file that keepassxc-cli writes.
    Interruption.hold()
    let database: [UInt8]
    do { database = try self.database(of: document.xml(), password) } catch {
      if Interruption.hasArrived { return nil }
      throw error
    }
    if Interruption.hasArrived { return nil }
    try Failure.writing(file) { () throws(PosixError) in
      let new = try NewFile(FilePath.name(of: file), in: FilePath.folder(of: file), replacing: force)
      try new.append(database)
      try new.finish()
    }
    Interruption.forget()
    source.wrote(file)
    return source.report
  }

  /// Lets keepassxc-cli encrypt the document in a separate folder, because it can write only to a named file, and not in one step.
  private func database(of xml: consuming SecureBytes, _ password: borrowing SecureBytes) throws -> [UInt8] {
    let folder = try PrivateFolder(in: choice.place.folder, for: "export", file: "new.kdbx")
    let program = ChildProgram(
      name: "keepassxc-cli",
      arguments: ["import", "--set-password", "--decryption-time", "1000", ChildProgram.documentPath, folder.file])
    let outcome = try program.run(password, document: xml)
    guard outcome.isDone, let bytes = try? Self.content(of: folder.file), !bytes.isEmpty else {
      let reason = outcome.complaints.filter { !$0.contains(text: "assword") }.joined(separator: " ")
      throw Failure.declined(
        translated("keepassxc-cli did not make the database, so nothing was written. It says: \(reason)"))
    }
    return bytes
  }

  private static func content(of path: String) throws(PosixError) -> [UInt8] {
    let file = try FileDescriptor.open(path, flags: O_RDONLY)
    return try file.readAll(limit: Int(try file.status().st_size))
  }
}
