import ArgumentParser
import LatchkeyClassRules
import LatchkeyGettext
import LatchkeySecretClient
import LatchkeySystemd

/// `latchkey export service`
struct ExportServiceCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "service", abstract: translated("Export into another program that keeps secrets and is running."),
    discussion: translated(
      """
      Stores by the Secret Service interface in gnome-keyring, oo7, KWallet or KeePassXC. While Latchkey owns the \
      name org.freedesktop.secrets on your session bus, name the other program with --owner, by any bus name that it \
      has, or its own bus with --bus. Items of 'login' go to the other program's default collection, others to a \
      collection of the same label, which is created if it does not exist. An item that is there with the same \
      attributes and the same secret stays as it is, so a second export stores nothing. An item that has another \
      secret there stays too, and is listed. Other programs know neither classes nor requirements, so these are not \
      exported.
      """))

  @OptionGroup var choice: ExportChoice
  @OptionGroup var provider: OtherProvider

  func run() throws {
    let report = try Failure.telling {
      try choice.prepare()
      let other = try provider.connect(choice.place)
      if !choice.dryRun { try choice.askForPresence() }
      let vault = try VaultConnection(choice.place)
      try provider.check(other, isNot: vault, so: translated("nothing was exported"))
      var source = try ExportSource(vault, choice)
      var form: ProviderForm? = choice.dryRun ? nil : try ProviderForm(other, vault, choice)
      guard try source.pour(into: &form) else {
        StandardStream.error.show(
          translated("latchkey: stopped. What was exported stays; run the same command again for the rest.\n"))
        Interruption.release()
        throw Failure.cancelled
      }
      if choice.dryRun {
        source.note(
          translated(
            "This dry run did not ask the other program which items it has. An item that is there with the same attributes would stay as it is."
          ))
      }
      for title in form?.locked ?? [] {
        source.note(
          translated(
            """
            The collection '\(title)' of the other program is locked. Its password is often a former login password of yours. \
            Unlock it there, for example in Seahorse, or as 'Going back' in latchkey-switch(1) says. Then run the same command \
            again.
            """))
      }
      return source.report
    }
    print(choice.json ? try JSONText.of(report) : report.text)
    if !report.isWhole { throw ExitCode(4) }
  }
}

/// The items of another program that keeps secrets.
private struct ProviderForm: ExportForm {
  private let other: VaultConnection
  private let choice: ExportChoice
  private let channel: SecretChannel
  private let standard: String
  private var title = ""
  /// The collection to which the items go; nil until there is an item to store.
  private var home: String?
  private var labels: [String: String] = [:]
  /// Items there that already correspond to an item of the vault. Several items can have the same attributes, so each item there
  /// corresponds to one item only.
  private var taken: Set<String> = []

  /// The labels of the collections there that stayed locked.
  private(set) var locked: [String] = []

  init(_ other: VaultConnection, _ vault: VaultConnection, _ choice: ExportChoice) throws {
    (self.other, self.choice) = (other, choice)
    channel = try other.openChannel()
    standard = try ListedCollection.named(nil, from: other).path
    for one in try ListedCollection.all(from: other) { labels[one.label] = one.path }
  }

  mutating func begin(_ collection: ListedCollection) throws {
    title = collection.title
    home = collection.name == "login" ? standard : labels[title]
    if let home, try ListedCollection(home, from: other).isLocked, choice.isAsking { try other.unlock(home) }
  }

  mutating func end() {}
  mutating func finish() {}

  mutating func add(_ item: ListedItem, _ secret: Secret) throws -> (ExportReport.Outcome, String) {
    do {
      let attributes = item.attributes ?? [:]
      if let home {
        let present = try self.present(attributes, label: item.label ?? "", in: home)
        if let same = try present.first(where: { try other.secret(of: $0, by: channel).isEqual(to: secret) }) {
          taken.insert(same)
          return (.same, "")
        }
        guard present.isEmpty else { return (.conflict, translated("the other program has another secret for it")) }
      }
      let stored = try other.store(
        secret, label: item.label ?? "", attributes: attributes, in: try madeHome(), replacing: false, by: channel)
      if let prompt = stored.prompt {
        guard choice.isAsking, try other.perform(prompt) != nil else {
          return (.left, translated("the other program did not store it"))
        }
      }
      taken.insert(stored.item)
      return (.exported, "")
    } catch let error as BusError {
      if error.isStandard("Disconnected") || error.isStandard("NoReply") { throw error }
      guard let home, (try? ListedCollection(home, from: other).isLocked) == true else {
        return (.left, translated("the other program said: \(error.message)"))
      }
      let theirs = labels.first { $0.value == home }?.key ?? title
      if !locked.contains(theirs) { locked.append(theirs) }
      return (.left, translated("the collection '\(theirs)' of the other program is locked"))
    }
  }

  private mutating func madeHome() throws -> String {
    if let home { return home }
    let made = try other.makeCollection(label: title)
    var path: String? = made.collection
    if let prompt = made.prompt {
      guard choice.isAsking else {
        throw BusError.failed(translated("the other program creates the collection '\(title)' only after a prompt"))
      }
      path = try other.perform(prompt)
    }
    guard let path, path.hasPrefix("/"), path != VaultConnection.none else {
      throw BusError.failed(
        translated(
          """
          the collection '\(title)' was not created there: nobody answered the other program's window for a new \
          password, or no display could show that window. 'latchkey export keepass' needs no window
          """))
    }
    home = path
    return path
  }

  /// The items of the other program that have exactly these attributes. gnome-keyring adds a schema to items without a schema, and
  /// KeePassXC adds the fields of its entries.
  private func present(_ attributes: [String: String], label: String, in home: String) throws -> [String] {
    let prefix = home + "/"
    return try other.search(attributes).filter { path in
      guard path.hasPrefix(prefix), !taken.contains(path) else { return false }
      let facts = try other.facts(ofItem: path)
      var theirs = facts.attributes
      if theirs["Uuid"] != nil, theirs["Path"] != nil {
        for name in KeePassXCEntry.names where attributes[name] == nil { theirs[name] = nil }
      }
      return GenericSchema.areSame(theirs, attributes) && (!attributes.isEmpty || facts.label == label)
    }
  }
}
