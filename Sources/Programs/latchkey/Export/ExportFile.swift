import ArgumentParser
import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium

/// A file without encryption that an export writes, and the warning before it.
struct ExportFile: ParsableArguments {
  @Flag(help: .translated("Write the file without encryption, without asking whether you want that.")) var plain = false
  @Flag(help: .translated("Write even into a folder that other users can list or write to.")) var publicFolder = false
  @Flag(help: .translated("Replace the file if it exists.")) var force = false
  @Flag(help: .translated("Show the secrets if the file is '-' and standard output is a terminal.")) var show = false
  @Argument(
    help: ArgumentHelp(translated("The file to write, or '-' for standard output."), valueName: "file"),
    completion: .file())
  var file: String

  /// Whether the secrets go to standard output, and the report to standard error.
  var isOutput: Bool { file == "-" }

  private var folder: String { FilePath.folder(of: file) }

  /// Refuses a place in which others would see the secrets, before anybody is asked a question.
  func check() throws {
    if isOutput {
      guard !StandardStream.output.isTerminal || show else {
        throw Failure.declined(
          translated(
            "secrets are shown on a terminal only with --show. Or send them elsewhere: latchkey export … - | gpg …"))
      }
      return
    }
    try Failure.checkNew(file, replacing: force)
    guard publicFolder || !FolderAccess.isPublic(folder) else {
      throw Failure.declined(
        translated(
          """
          other users can list the folder \(folder) or write to it, so nothing was written there.
          Choose a folder of your own, keep others out of it with 'chmod go= FOLDER', or give --public-folder.
          """))
    }
  }

  /// Asks the person to agree to a file that everybody who gets it can read.
  func confirm(_ choice: ExportChoice) throws {
    guard !isOutput, !plain else { return }
    guard !choice.asking.stdin, isatty(STDIN_FILENO) == 1 else {
      throw Failure.declined(
        translated(
          """
          the file would not be encrypted: whoever gets it has your secrets. Give --plain if you want that.
          'latchkey export keepass' and 'latchkey backup' write encrypted files.
          """))
    }
    var answer = ""
    let terminal = try choice.asking.conversation()
    terminal.answer(.info(translated("The file will not be encrypted: whoever gets it has your secrets.")), { _ in })
    terminal.answer(.visible(translated("Write it? [y/N] "))) { given in
      answer = given.bytes.text
    }
    guard ["y", "yes"].contains(answer.lowercased()) else {
      throw Failure.declined(translated("you did not agree, so nothing was written."))
    }
  }

  /// Exports in a form that is written piece by piece, and prints the outcome for every item.
  func write<Form: PlainForm>(_ kind: Form.Type, _ choice: ExportChoice) throws {
    let report = try Failure.telling {
      try check()
      try choice.prepare()
      if !choice.dryRun {
        try confirm(choice)
        try choice.askForPresence()
      }
      let report = try written(kind, choice)
      // The unfinished file has been removed by now.
      if report == nil { Interruption.release() }
      guard let report else { throw Failure.cancelled }
      return report
    }
    try finish(report, json: choice.json)
  }

  private func written<Form: PlainForm>(_ kind: Form.Type, _ choice: ExportChoice) throws -> ExportReport? {
    let vault = try VaultConnection(choice.place)
    var source = try ExportSource(vault, choice, showsProgress: !(isOutput && StandardStream.output.isTerminal))
    if !Form.warning.isEmpty { source.note(Form.warning) }
    let output = choice.dryRun ? nil : try open()
    var form = try output.map { try Form($0, vault) }
    guard try source.pour(into: &form) else { return nil }
    try output?.finish()
    if output != nil, !isOutput {
      source.wrote(file)
      source.note(
        translated("The file is not encrypted: whoever gets it has your secrets. Delete it when you are done."))
    }
    return source.report
  }

  /// Begins the output.
  private func open() throws -> ExportOutput {
    if isOutput { return ExportOutput(nil, path: file) }
    let new = try Failure.writing(file) { () throws(PosixError) in
      try NewFile(FilePath.name(of: file), in: folder, replacing: force)
    }
    return ExportOutput(new, path: file)
  }

  /// Prints the outcome for every item, apart from the secrets.
  private func finish(_ report: ExportReport, json: Bool) throws {
    let text = json ? try JSONText.of(report) : report.text
    if isOutput, !report.dry_run { StandardStream.error.show(text + "\n") } else { print(text) }
    if !report.isWhole { throw ExitCode(4) }
  }
}

/// A form that is written piece by piece, without encryption.
protocol PlainForm: ExportForm {
  init(_ output: ExportOutput, _ vault: VaultConnection) throws
  /// A warning about data that the form cannot hold; empty if it holds everything.
  static var warning: String { get }
}

/// A file or standard output, piece by piece. A file appears under its name only when it is complete.
final class ExportOutput {
  private let file: NewFile?
  private let path: String
  private(set) var size = 0
  /// Whether a person sees the output at once.
  let isTerminal: Bool

  init(_ file: NewFile?, path: String) {
    (self.file, self.path) = (file, path)
    isTerminal = file == nil && StandardStream.output.isTerminal
  }

  func write(_ bytes: RawSpan) throws {
    size += bytes.byteCount
    guard let file else { return try StandardStream.output.write(bytes) }
    do throws(PosixError) { try file.append(bytes) } catch { throw Failure.writing(path, error) }
  }

  func write(_ text: String) throws { try write(Array(text.utf8).span.bytes) }

  func finish() throws {
    guard let file else { return }
    try Failure.writing(path) { () throws(PosixError) in try file.finish() }
  }
}

/// Access to a folder.
enum FolderAccess {
  /// Whether users other than the owner and the group can list the folder or write to it, and can reach it.
  static func isPublic(_ path: String) -> Bool {
    guard let real = realpath(path, nil) else { return false }
    defer { free(real) }
    var folder = String(cString: real)
    guard let mode = mode(of: folder), mode & (S_IROTH | S_IWOTH) != 0 else { return false }
    while folder != "/" {
      folder = folder.lastIndex(of: "/").map { String(folder[..<$0]) } ?? ""
      if folder.isEmpty { folder = "/" }
      // Nobody else can go through this folder.
      if let mode = self.mode(of: folder), mode & S_IXOTH == 0 { return false }
    }
    return true
  }

  private static func mode(of path: String) -> mode_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode : nil
  }
}

extension Failure {
  /// Runs a step on the file that is written. The error of a failure is for a person.
  static func writing<Result>(_ file: String, _ body: () throws(PosixError) -> Result) throws -> Result {
    do throws(PosixError) { return try body() } catch { throw writing(file, error) }
  }

  /// Finds out whether a new file can be written, before anybody is asked a question.
  static func checkNew(_ file: String, replacing: Bool) throws {
    try writing(file) { () throws(PosixError) in
      try NewFile.check(FilePath.name(of: file), in: FilePath.folder(of: file), replacing: replacing)
    }
  }

  static func writing(_ file: String, _ error: PosixError) -> Failure {
    let text =
      switch error.code {
      case EEXIST: translated("\(file) exists already, and was not changed. Choose another name, or give --force.")
      case ENOTSUP: translated("\(file) is not a regular file, and was not changed. Choose another name.")
      case EBUSY: translated("\(file) is being written by another command. Run this one again when that has finished.")
      default: translated("\(file) cannot be written: \(String(cString: strerror(error.code)))")
      }
    return .file(text)
  }
}
