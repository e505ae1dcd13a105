import ArgumentParser
import LatchkeyDoctor
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeySecretClient
import LatchkeySystemd

/// `latchkey import service`
struct ImportServiceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "service", abstract: translated("Import from another program that keeps secrets and is running."),
    discussion: translated(
      """
      Reads by the Secret Service interface whatever that program lets any client read: gnome-keyring, oo7, KWallet, \
      KeePassXC. While Latchkey owns the name org.freedesktop.secrets on your session bus, name the other program \
      with --owner, by any bus name that it has, or its own bus with --bus. A locked collection is unlocked first: \
      that program asks you as it always does. A collection that it does not unlock stays behind. Entries that KDE's \
      programs have in KWallet stay behind too: 'latchkey import kwallet --running' imports those.
      """))

  @OptionGroup var choice: ImportChoice
  @OptionGroup var other: OtherProvider

  func run() throws {
    let importer = try Failure.telling {
      try choice.prepare()
      let vault = try VaultConnection(choice.place)
      let provider = try other.connect(choice.place)
      try other.check(provider, isNot: vault, so: translated("there is nothing to import"))
      var importer = try choice.importer(into: vault, from: "service \(other.owner) \(other.bus ?? "")")
      let service = ForeignService(provider, isAsking: choice.isAsking)
      let read = try service.collections(choice) { importer.leave($0, $1, $2) }
      try importer.take(read.collections, standard: read.standard)
      if read.passing > 0 {
        importer.note(translated("Items that end with the session, which were left there: \(read.passing)."))
      }
      if read.isKeePassXC {
        importer.note(
          translated(
            """
            KeePassXC does not reveal protected fields of your own and attached files here. 'latchkey import keepass' \
            imports those too.
            """))
      }
      importer.note(translated("The other program still has its items. Nothing was changed there."))
      return importer
    }
    try importer.finish()
  }
}

/// The view of another program's secrets that every client of it has.
struct ForeignService {
  private let connection: VaultConnection
  private let isAsking: Bool

  init(_ connection: VaultConnection, isAsking: Bool) { (self.connection, self.isAsking) = (connection, isAsking) }

  /// The contents of the other program.
  struct Contents {
    var collections: [ForeignCollection] = []
    /// The name of the default collection.
    var standard: String?
    /// The number of items that end with the session.
    var passing = 0
    /// Whether the service is KeePassXC, to judge by its entries.
    var isKeePassXC = false
  }

  /// Reads the chosen items.
  ///
  /// - Parameter leave: gets the labels of the collection and the item, and the reason, for each item that could not be read.
  func collections(_ choice: ImportChoice, leave: (String, String, String) -> Void) throws -> Contents {
    let channel = try connection.openChannel()
    var contents = Contents(standard: try? ListedCollection.named(nil, from: connection).name)
    let progress = Progress()
    defer { progress.end() }
    let listed = try ListedCollection.all(from: connection)
    // The items of this collection end with the session.
    for passing in listed where passing.name == "session" {
      contents.passing += try passing.items(from: connection).count
    }
    let all = listed.filter { $0.name != "session" }
    let unread = all.map { ForeignCollection(name: $0.name, label: $0.label, items: []) }
    try choice.checkNames(among: unread)
    for (listed, collection) in zip(all, unread) where choice.takes(collection) {
      if listed.isLocked, isAsking { try connection.unlock(listed.path) }
      guard try !ListedCollection(listed.path, from: connection).isLocked else {
        leave(
          listed.title, translated("all of its items"),
          translated("the other program did not unlock it; unlock it there, then run this again"))
        continue
      }
      var items: [ForeignItem] = []
      for path in try listed.items(from: connection) {
        progress.show(translated("\(items.count) items read from \(listed.title)"))
        do throws(BusError) {
          let (item, reason, isOfKeePassXC) = try item(path, channel)
          contents.isKeePassXC = contents.isKeePassXC || isOfKeePassXC
          if let item { items.append(item) }
          if let reason { leave(listed.title, item?.label ?? path, reason) }
        } catch {
          if error.isStandard("Disconnected") { throw error }
          leave(listed.title, path, error.message)
        }
      }
      contents.collections.append(
        ForeignCollection(
          name: listed.name, label: listed.label, firstLabel: ListedCollection.label(ofName: listed.name), items: items)
      )
    }
    return contents
  }

  /// An item, or its name and the reason why it stays behind.
  private func item(
    _ path: String, _ channel: SecretChannel
  ) throws(BusError) -> (item: ForeignItem?, reason: String?, isOfKeePassXC: Bool) {
    let facts = try connection.facts(ofItem: path)
    var attributes = facts.attributes
    if isKWallet, attributes.isEmpty {
      let label = facts.label
      // KWallet reveals neither folder nor kind of these entries, and gives a map's value in Qt's form.
      return (
        nil, translated("'\(label)' is an entry of KDE's programs; 'latchkey import kwallet --running' imports it"),
        false
      )
    }
    var reason: String?
    let entry = KeePassXCEntry(attributes, at: path)
    if let entry {
      attributes = entry.attributes
      if entry.isPart {
        reason = translated("its notes and one-time password; 'latchkey import keepass' imports them")
      }
    }
    let item = ForeignItem(
      label: facts.label, attributes: attributes, secret: try connection.secret(of: path, by: channel),
      created: facts.created, modified: facts.modified)
    return (item, reason, entry != nil)
  }

  /// Whether the other program is KWallet.
  private var isKWallet: Bool {
    guard let process = connection.ownerProcess, let name = RunningProcess(process, in: SystemRoot())?.name else {
      return false
    }
    return Provider.of(process: name)?.id == "kwallet"
  }
}
