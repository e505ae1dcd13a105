import ArgumentParser
import LatchkeyForeignKeyrings
import LatchkeyGettext

/// `latchkey import json`
struct ImportJSONCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "json", abstract: translated("Import what 'latchkey export json' wrote."),
    discussion: translated(
      """
      Everything that the file has arrives: collections, labels, attributes, content types, times, classes, what \
      items require, and which collection is the default one. The class comes from the file, not from the rules. An \
      item with a passphrase of its own gets a new passphrase, which you are asked for.
      """))

  @OptionGroup var choice: ImportChoice
  @Argument(
    help: ArgumentHelp(translated("The exported file, or '-' for standard input."), valueName: "file"),
    completion: .file())
  var file: String

  func run() throws {
    let importer = try Failure.telling {
      try choice.prepare()
      let export = try read()
      try choice.checkNames(among: export.collections)
      var importer = try choice.importer(into: VaultConnection(choice.place), from: "json", [file])
      // Each collection keeps its own name, because the default collection of this vault may differ from the exported vault's.
      try importer.take(export.collections.map(Self.named), standard: nil, areOurs: true)
      if let standard = export.collections.first(where: { $0.name == export.standard }) {
        try importer.makeStandard(standard)
      }
      importer.noteFile(file)
      return importer
    }
    try importer.finish()
  }

  /// The collection, with the label from which the path was made.
  private static func named(_ one: ForeignCollection) -> ForeignCollection {
    ForeignCollection(
      name: one.name, label: one.label, firstLabel: ListedCollection.label(ofName: one.name), items: one.items)
  }

  private func read() throws -> JSONExport {
    let opened = try ForeignFile(orInput: file, limit: JSONExport.sizeLimit)
    do { return try JSONExport(opened.bytes) } catch {
      let reason = error == .unknownFormat ? translated("was not written by 'latchkey export json'") : error.explanation
      throw Failure.file(translated("\(opened.path) \(reason). Nothing was imported."))
    }
  }
}
