import ArgumentParser
import FoundationEssentials
import Glibc
import LatchkeyForeignKeyrings
import LatchkeyPAMClient
import LatchkeyPosix
import LatchkeySodium

/// `latchkey import gnome-keyring`
struct ImportGNOMEKeyringCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gnome-keyring", abstract: "Import the keyring files of gnome-keyring.",
    discussion: """
      Reads every .keyring file of ~/.local/share/keyrings (of $XDG_DATA_HOME, where that is set), or the files and folders \
      that you name. gnome-keyring need not run. The password is asked for once, or is a line of standard input; it is \
      tried for each file. A keyring with another password stays behind: name that file alone, and give its password. Items \
      of 'login' and of the default keyring come into your default collection, those of others into one of the same label.
      """)

  @OptionGroup var choice: ImportChoice
  @Argument(help: ArgumentHelp("Keyring files, or folders of them.", valueName: "path"), completion: .file())
  var paths: [String] = []

  func run() throws {
    let importer = try Failure.telling {
      try choice.prepare()
      let files = try KeyringFiles(paths)
      var importer = try choice.importer(into: VaultConnection(choice.place))
      let read = try read(files, &importer)
      // One that could not be read may be the one that was named.
      if importer.report.isWhole { try choice.checkNames(among: read) }
      try importer.take(read, standard: files.standard)
      return importer
    }
    try importer.finish()
  }

  private func read(_ files: KeyringFiles, _ importer: inout Importer) throws -> [ForeignCollection] {
    var collections: [ForeignCollection] = []
    var password = try Password()
    for path in files.paths {
      let file = try ForeignFile(path)
      do throws(ForeignFileError) {
        collections.append(try password.open(file))
        importer.read(path)
      } catch {
        // What was named alone is a failure; of several, the others come.
        let reason = "\(path) \(error.explanation)"
        guard files.paths.count > 1 else { throw Failure.file("\(reason). Nothing was imported.") }
        importer.leave(ForeignFile.name(path), "all of its items", error.explanation)
      }
    }
    if collections.isEmpty {
      throw Failure.file(
        """
        no keyring could be read, so nothing was imported. Was it the right password?
        Name a file alone to see why it could not be read.
        """)
    }
    for note in files.notes { importer.note(note) }
    return collections
  }

  /// The password of the keyrings, which is asked for when the first file needs it.
  private struct Password: ~Copyable {
    private let empty: SecureBytes
    private var given: SecureBytes
    private var isAsked = false

    init() throws {
      // Both at once: neither may be there alone when the other fails.
      let first = try SecureBytes(count: 0)
      let second = try SecureBytes(count: 0)
      empty = first
      given = second
    }

    mutating func open(_ file: borrowing ForeignFile) throws(ForeignFileError) -> ForeignCollection {
      let name = ForeignFile.name(file.path)
      do {
        // A keyring may have an empty password, and a textual one has none.
        return try KeyringFile.read(file.bytes, name: name, password: empty)
      } catch {
        guard error == .wrongPassword else { throw error }
      }
      if !isAsked {
        given = try Self.asked()
        isAsked = true
      }
      return try KeyringFile.read(file.bytes, name: name, password: given)
    }

    private static func asked() throws(ForeignFileError) -> SecureBytes {
      do {
        let terminal = try TerminalConversation.asking(standardInput: isatty(STDIN_FILENO) != 1)
        var given: SecureBytes?
        terminal.answer(.secret("Password of the keyring: ")) { given = try? SecureBytes(copying: $0.bytes) }
        guard let password = given.take() else { throw Failure.cancelled }
        return password
      } catch let failure as Failure { failure.end() } catch { throw .noMemory }
    }
  }
}

/// The keyring files that are to be read.
struct KeyringFiles {
  private(set) var paths: [String] = []
  /// The name of the default keyring.
  private(set) var standard: String?
  /// What lies beside them and is not read.
  private(set) var notes: [String] = []

  init(_ given: [String]) throws {
    for path in given.isEmpty ? [Self.folder] : given {
      var isFolder = stat()
      if stat(path, &isFolder) == 0, isFolder.st_mode & S_IFMT == S_IFDIR {
        try take(folder: path)
      } else {
        paths.append(path)
      }
    }
    guard !paths.isEmpty else {
      throw Failure.file("there is no keyring in \(given.first ?? Self.folder), so nothing was imported.")
    }
  }

  private static var folder: String {
    let environment = ProcessInfo.processInfo.environment
    if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") { return data + "/keyrings" }
    return (environment["HOME"] ?? Account(uid: getuid())?.home ?? "") + "/.local/share/keyrings"
  }

  private mutating func take(folder: String) throws {
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: folder).sorted() } catch {
      throw Failure.file("\(folder) cannot be read, so nothing was imported.")
    }
    paths += names.filter { $0.hasSuffix(".keyring") }.map { "\(folder)/\($0)" }
    if names.contains("user.keystore") {
      notes.append("\(folder)/user.keystore has keys and certificates, not passwords. It was left alone.")
    }
    if names.contains("default"), let file = try? ForeignFile("\(folder)/default"), file.bytes.count <= 4096 {
      let text = file.bytes.bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      standard = text.split(separator: "\n").first.map(String.init)
    }
  }
}
