import ArgumentParser
import LatchkeyGettext
import LatchkeySecretClient
import LatchkeySodium
import LatchkeyText

/// `latchkey export csv`
struct ExportCSVCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "csv", abstract: translated("Export passwords as CSV, for browsers and password managers."),
    discussion: translated(
      """
      The columns are name, url, username, password, note, totp, group, httpRealm and fields, which 'latchkey import \
      csv', browsers and password managers know. url and username come from the attributes that have them; other \
      attributes, classes and times are not in the file. A secret that is not text is left out. The file is not \
      encrypted, and only you may read it (mode 0600).
      """))

  @OptionGroup var choice: ExportChoice
  @OptionGroup var target: ExportFile

  func run() throws { try target.write(CSVForm.self, choice) }
}

/// CSV by RFC 4180: a row for each login, and for each other item.
private struct CSVForm: PlainForm {
  static let warning =
    translated(
      "CSV leaves out attributes, classes and times, and has only secrets that are text; 'latchkey export json' has everything."
    )

  private let output: ExportOutput
  /// The collection's name in the rows; empty for the default one, which has most items.
  private var group = ""
  private var entries = ExportedEntries()
  private let standard: String

  init(_ output: ExportOutput, _ vault: VaultConnection) throws {
    self.output = output
    standard = try ListedCollection.named(nil, from: vault).path
    try output.write("name,url,username,password,note,totp,group,httpRealm,fields\r\n")
  }

  mutating func begin(_ collection: ListedCollection) {
    (group, entries) = (collection.path == standard ? "" : collection.title, ExportedEntries())
  }

  mutating func add(_ item: ListedItem, _ secret: Secret) -> (ExportReport.Outcome, String) {
    guard secret.isText else {
      return (
        .left, translated("its secret is not text; 'latchkey export json' or 'latchkey export keepass' exports it")
      )
    }
    guard !output.isTerminal || secret.isPrintable else {
      return (.left, translated("its secret could control the terminal; export it into a file"))
    }
    entries.add(item, secret)
    return (.exported, "")
  }

  mutating func end() throws {
    for entry in entries.all {
      let others = entry.others
      if entry.secrets.count > others.count {
        try row(
          entry, entry.label, entry.secrets[.password], entry.secrets[.notes], entry.secrets[.totp],
          entry.secrets[.fields])
      }
      // A secret without a column gets a row of its own.
      for other in others { try row(entry, "\(entry.label) (\(other.name))", other.secret) }
    }
  }

  func finish() {}

  private func row(
    _ entry: ExportedEntry, _ label: String, _ password: Secret?, _ notes: Secret? = nil, _ totp: Secret? = nil,
    _ fields: Secret? = nil
  ) throws {
    try write(label)
    try write(entry.url, after: ",")
    try write(entry.user, after: ",")
    try write(password)
    try write(notes)
    try write(totp)
    try write(entry.attributes["group"] ?? group, after: ",")
    try write(entry.attributes["realm"] ?? "", after: ",")
    try write(fields)
    try output.write("\r\n")
  }

  private func write(_ text: String, after separator: String = "") throws {
    let text = output.isTerminal ? TerminalText.printable(text) : text
    try output.write("\(separator)\"\(text.replacing(text: "\"", with: "\"\""))\"")
  }

  private func write(_ secret: Secret?) throws {
    try output.write(",\"")
    if let secret {
      let text = try secret.withBytes { try Self.doubled($0) }
      try output.write(text.bytes)
    }
    try output.write("\"")
  }

  /// The text with each quote twice.
  private static func doubled(_ text: RawSpan) throws(SodiumError) -> SecureBytes {
    let quote = UInt8(ascii: "\"")
    let quotes = text.byteOffsets.count { text[$0] == quote }
    var out = try SecureWriter(capacity: text.byteCount + quotes)
    for at in text.byteOffsets {
      out.append(text[at])
      if text[at] == quote { out.append(quote) }
    }
    return try out.finish()
  }
}
