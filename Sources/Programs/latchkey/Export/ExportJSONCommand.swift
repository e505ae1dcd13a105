import ArgumentParser
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySecretClient
import LatchkeySodium

/// `latchkey export json`
struct ExportJSONCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "json",
    abstract: translated("Export everything into a JSON file, which 'latchkey import json' reads."),
    discussion: translated(
      """
      The file has collections, labels, attributes, content types, times, classes, what items require, and the \
      secrets: as text, or in Base64 if a secret is not text. FORMAT.md describes the file. It is not encrypted, and \
      only you may read it (mode 0600). The file appears under its name only when it is complete.
      """))

  @OptionGroup var choice: ExportChoice
  @OptionGroup var target: ExportFile

  func run() throws { try target.write(JSONForm.self, choice) }
}

/// The JSON of an export, one item in each line; ``JSONExport`` reads it.
private struct JSONForm: PlainForm {
  static let warning = ""

  private let output: ExportOutput
  private var isFirstCollection = true
  private var isFirstItem = true

  init(_ output: ExportOutput, _ vault: VaultConnection) throws {
    self.output = output
    let standard = try JSONText.line(of: try ListedCollection.named(nil, from: vault).name)
    let time = UTCTime.text(LatchkeyPosix.Process.time)
    try output.write(
      "{\"format\":\"\(JSONExport.format)\",\"version\":\(JSONExport.version),\"exported\":\"\(time)\",\"default\":\(standard),\n"
        + "\"collections\":[")
  }

  mutating func begin(_ collection: ListedCollection) throws {
    let (name, label) = (try JSONText.line(of: collection.name), try JSONText.line(of: collection.label))
    try output.write("\(isFirstCollection ? "" : ",")\n{\"name\":\(name),\"label\":\(label),\"items\":[")
    (isFirstCollection, isFirstItem) = (false, true)
  }

  private struct Metadata: Encodable {
    let label: String
    let attributes: [String: String]
    let `class`: String?
    let require: String
    let created: UInt64
    let modified: UInt64
    let content_type: String
  }

  mutating func add(_ item: ListedItem, _ secret: Secret) throws -> (ExportReport.Outcome, String) {
    let metadata = Metadata(
      label: item.label ?? "", attributes: item.attributes ?? [:], class: item.accessibility?.name,
      require: item.require ?? "", created: item.created, modified: item.modified, content_type: secret.contentType)
    let known = try JSONText.line(of: metadata).dropLast()
    let value = try JSONText.value(of: secret)
    // Base64 makes a secret a third larger. An import could not read a file that is too large.
    guard output.size + known.utf8.count + value.count + 4096 <= JSONExport.sizeLimit else {
      return (
        .left,
        translated(
          "the file would be larger than \(JSONExport.sizeLimit >> 20) MiB; export the collections one by one with --collection"
        )
      )
    }
    try output.write("\(isFirstItem ? "" : ",")\n\(known),\"\(secret.isText ? "secret" : "secret_base64")\":")
    try output.write(value.bytes)
    try output.write("}")
    isFirstItem = false
    return (.exported, "")
  }

  mutating func end() throws { try output.write("\n]}") }
  mutating func finish() throws { try output.write("\n]}\n") }
}
