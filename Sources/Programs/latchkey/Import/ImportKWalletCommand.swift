import ArgumentParser
import Glibc
import LatchkeyDoctor
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium
import LatchkeyText

/// `latchkey import kwallet`
struct ImportKWalletCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "kwallet", abstract: translated("Import the wallets of KWallet."),
    discussion: translated(
      """
      Reads every .kwl file of ~/.local/share/kwalletd (of $XDG_DATA_HOME, if that is set) with the salt beside it, \
      or the files and folders that you name. KWallet need not run. The password is asked for once, or is a line of \
      standard input; it is tried for each file. Entries arrive as KDE's programs look for them in a Secret Service: \
      the schema is org.qt.keychain, server the folder, user the entry, and type is plaintext, map or base64. A \
      wallet goes into a collection with the wallet's name, because those programs look for that name. The default \
      wallet goes into your default collection, which gets the wallet's name if it is still called \
      '\(ListedCollection.firstLabel)'.
      Only KWallet itself reads a wallet that is encrypted with GPG: --running asks the KWallet that runs, which asks \
      you.
      """))

  @OptionGroup var choice: ImportChoice
  @Flag(help: .translated("Ask the KWallet that runs, which opens its wallets for you, instead of reading files."))
  var running = false
  @Option(
    help: ArgumentHelp(translated("The bus that KWallet is on. By default your session bus."), valueName: "address"))
  var bus: String?
  @Argument(help: ArgumentHelp(translated("Wallet files, or folders of them."), valueName: "path"), completion: .file())
  var paths: [String] = []

  func validate() throws {
    guard running ? paths.isEmpty : bus == nil else {
      throw ValidationError(translated("--running takes no files, and --bus works only together with --running."))
    }
  }

  func run() throws {
    let importer = try Failure.telling {
      try choice.prepare()
      var importer = try choice.importer(
        into: VaultConnection(choice.place), from: running ? "kwallet --running" : "kwallet", running ? [] : paths)
      let read = running ? try served(&importer) : try wallets(&importer)
      if importer.report.isWhole { try choice.checkNames(among: read.wallets) }
      try place(read.wallets, standard: read.standard, in: &importer)
      try importer.take(read.wallets, standard: nil)
      return importer
    }
    try importer.finish()
  }

  /// The usual name of the default wallet.
  private static let usualStandard = "kdewallet"

  /// Makes sure that KDE's programs find the default wallet.
  private func place(
    _ wallets: [ForeignCollection], standard: String, in importer: inout Importer
  ) throws {
    if let wallet = wallets.first(where: { $0.name == standard }) { return try importer.place(defaultWallet: wallet) }
    // KWallet names a collection there once it has moved its default wallet to a Secret Service itself.
    if let wallet = wallets.first(where: { $0.name == Self.usualStandard }) {
      try importer.place(formerDefaultWallet: wallet, standard: standard)
    }
  }

  /// The name of the default wallet, from the person's settings of KWallet, or else from the machine's.
  private var standard: String {
    let machine = LatchkeyPosix.Process.environment["XDG_CONFIG_DIRS"] ?? ""
    let folders = (machine.isEmpty ? "/etc/xdg" : machine).split(separator: ":").map(String.init)
    for folder in [ForeignFiles.settingsFolder] + folders {
      guard let file = try? ForeignFile("\(folder)/kwalletrc", limit: 64 << 10) else { continue }
      let text = SettingsText(file.bytes.bytes.text)
      // KDE marks a setting that the administrator fixed.
      for section in ["Wallet", "Wallet][$i"] {
        for key in ["Default Wallet", "Default Wallet[$i]"] {
          if let name = text.value(key, in: section), !name.isEmpty { return name }
        }
      }
    }
    return Self.usualStandard
  }

  private func served(_ importer: inout Importer) throws -> (wallets: [ForeignCollection], standard: String) {
    let wallet = try RunningKWallet(on: bus)
    let folder = ForeignFiles.dataFolder + "/kwalletd/"
    var unread: [String] = []
    let notes = { (name: String) -> [String: ServedEntry] in
      let notes = Self.served(of: folder + name)
      if notes == nil { unread.append(folder + name + Self.notesEnding) }
      return notes ?? [:]
    }
    let read = try wallet.collections(choice, notes: notes) { importer.leave($0, $1, $2) }
    for path in unread { Self.note(unread: path, in: &importer) }
    importer.note(translated("KWallet still has its entries. Nothing was changed there."))
    return (read, try wallet.standard())
  }

  private func wallets(_ importer: inout Importer) throws -> (wallets: [ForeignCollection], standard: String) {
    let files = try ForeignFiles(
      paths, folder: ForeignFiles.dataFolder + "/kwalletd", ending: ".kwl", what: "wallet")
    let password = try ImportPassword()
    var unread: [String] = []
    let read = try files.read(&importer, what: "wallet", choice, beside: Self.beside) { file throws(ForeignFileError) in
      let name = Self.decoded(ForeignFile.name(file.path))
      return ForeignCollection(name: name, label: name, items: [])
    } _: { file throws(ForeignFileError) in
      let stem = Self.stem(file.path)
      let name = Self.decoded(ForeignFile.name(file.path))
      let served = Self.served(of: stem)
      if served == nil { unread.append(stem + Self.notesEnding) }
      let salt = try Self.salt(of: stem)
      return try password.open(file.path, hasOthers: files.paths.count > 1) { given throws(ForeignFileError) in
        try WalletFile.read(file.bytes, name: name, salt: salt, password: given, served: served ?? [:])
      }
    }
    for path in unread { Self.note(unread: path, in: &importer) }
    files.nameOthers(&importer) { $0.hasSuffix(Self.saltEnding) || $0.hasSuffix(Self.notesEnding) }
    return (read, standard)
  }

  /// A wallet's path without its ending.
  private static func stem(_ path: String) -> String { path.hasSuffix(".kwl") ? String(path.dropLast(4)) : path }

  /// The files of a wallet beside it: its salt, and KWallet's notes about its items.
  private static func beside(_ path: String) -> [String] {
    [saltEnding, notesEnding].map { stem(path) + $0 }.filter { access($0, F_OK) == 0 }
  }

  private static let saltEnding = ".salt"
  private static let notesEnding = "_attributes.json"

  /// The salt beside a wallet; empty if there is no salt.
  private static func salt(of stem: String) throws(ForeignFileError) -> SecureBytes {
    do {
      guard let file = try? ForeignFile(stem + saltEnding) else { return try SecureBytes(count: 0) }
      return try SecureBytes(copying: file.bytes.bytes)
    } catch { throw .noMemory }
  }

  /// A wallet's name. In the name of its file, some characters are written in hexadecimal behind a semicolon.
  static func decoded(_ name: String) -> String {
    var octets: [UInt8] = []
    var rest = Array(name.utf8)[...]
    while let octet = rest.popFirst() {
      if octet == UInt8(ascii: ";"), rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        octets.append(value)
        rest = rest.dropFirst(2)
      } else {
        octets.append(octet)
      }
    }
    return String(decoding: octets, as: UTF8.self)
  }

  private static func note(unread path: String, in importer: inout Importer) {
    importer.keep(
      translated(
        """
        \(path) cannot be read. This file has the attributes of items that programs stored by the Secret Service, so \
        those items came as entries of KDE's programs.
        """))
  }

  /// KWallet's notes about the items that programs stored over the Secret Service, from a file beside the wallet; nil if the notes
  /// cannot be read.
  private static func served(of stem: String) -> [String: ServedEntry]? {
    /// KWallet's format: beside the entries stand two times.
    enum Note: Decodable {
      case entry(ServedEntry)
      case other

      private enum Key: String, CodingKey {
        case attributes
        case contentType = "$fdo_mime_type"
        case created = "$fdo_created"
        case modified = "$fdo_modified"
      }

      init(from decoder: any Decoder) throws {
        guard let fields = try? decoder.container(keyedBy: Key.self),
          let attributes = try fields.decodeIfPresent([String: String].self, forKey: .attributes)
        else {
          self = .other
          return
        }
        func time(_ key: Key) -> UInt64 { (try? fields.decode(String.self, forKey: key)).flatMap(UInt64.init) ?? 0 }
        self = .entry(
          ServedEntry(
            attributes: attributes, contentType: try? fields.decode(String.self, forKey: .contentType),
            created: time(.created), modified: time(.modified)))
      }
    }
    let path = stem + notesEnding
    guard let file = try? ForeignFile(path) else { return access(path, F_OK) == 0 ? nil : [:] }
    let text = file.bytes.bytes.octets
    guard let notes = try? JSONValue(parsing: text).decoded(as: [String: Note].self) else { return nil }
    return notes.compactMapValues { note in
      guard case .entry(let entry) = note else { return nil }
      return entry
    }
  }
}
