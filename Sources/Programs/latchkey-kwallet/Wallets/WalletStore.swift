import LatchkeyForeignKeyrings
import LatchkeySecretClient
import LatchkeySystemd

/// The wallets in the vault, in the layout of KDE's own proxy to the Secret Service (docs/user/kde.md). A wallet is a collection. An
/// entry is an item with the schema `org.qt.keychain` and no other attributes than `server`, `user` and `type`: the folder, the entry and
/// its form.
final class WalletStore {
  /// The place of a wallet.
  enum FoundWallet {
    /// The wallet's collection, which is unlocked.
    case open(String)
    /// The object that must be unlocked first.
    case locked(String)
    case missing
  }

  /// The form of an entry's secret.
  enum Form: String {
    case plaintext
    case map
    case base64
    case binary

    /// KWallet's number for the kind.
    var kind: WalletContent.Kind {
      switch self {
      case .plaintext: .password
      case .map: .map
      case .base64, .binary: .stream
      }
    }
  }

  /// An entry, and its secret if the vault returned the secret.
  struct Entry {
    let path: String
    let identifier: [UInt8]
    let folder: ExactName
    let name: ExactName
    let form: Form
    /// Whether the entry's secret can be read now.
    let isReadable: Bool
    var secret: Secret?
  }

  private let link: VaultLink
  /// The collections of wallets, as far as this program knows them.
  private var places: [ExactName: String] = [:]
  private var placesGeneration = 0
  private var known = KnownEntries()

  private static let schemaName = "xdg:schema"
  private static let schema = "org.qt.keychain"
  /// The label of the default collection of a new vault.
  private static let firstLabel = "Login"
  private static let changeLimit = 4096

  init(_ link: VaultLink) { self.link = link }

  /// Collections came, went or got another label.
  func forgetPlaces() { (places, known) = ([:], KnownEntries()) }

  // MARK: - wallets

  private struct Collection {
    let path: String
    /// The label; nil if it cannot be read.
    let label: ExactName?
    let isLocked: Bool
  }

  private func collections(_ vault: ServiceConnection) throws(BusError) -> [Collection] {
    let paths = try vault.get("Collections", .paths, of: ServiceConnection.root, on: ServiceConnection.service)
    var found: [Collection] = []
    for path in paths where path != ServiceConnection.root + "/collection/session" {
      if let collection = try collection(path, vault) { found.append(collection) }
    }
    return found
  }

  /// One collection; nil if the collection is gone.
  private func collection(_ path: String, _ vault: ServiceConnection) throws(BusError) -> Collection? {
    var label: ExactName?
    var isLocked = false
    do throws(BusError) {
      try vault.properties(of: path, ServiceConnection.collection) { (name, entry) throws(BusError) in
        switch name {
        case "Label":
          label = ExactName(try entry.readVariant(.text))
        case "Locked": isLocked = try entry.readVariant(.flag)
        default: try entry.skip()
        }
      }
    } catch {
      if error.isNoSuchObject { return nil }
      guard error.isLocked else { throw error }
      isLocked = true
    }
    return Collection(path: path, label: label, isLocked: isLocked)
  }

  private func defaultCollection(_ vault: ServiceConnection) throws(BusError) -> String {
    try vault.call(ServiceConnection.root, ServiceConnection.service, "ReadAlias") {
      $0.appendString("default")
    } read: { (answer: Message) throws(BusError) in
      try answer.readObjectPath()
    }
  }

  /// The names of all wallets.
  ///
  /// - Parameter standard: the wallet that KDE's settings name. The default collection is shown under that name while it has the label
  ///   of a new vault.
  func names(standard: ExactName) throws(BusError) -> [ExactName] {
    try link.with { vault throws(BusError) in
      let all = try collections(vault)
      var names = all.compactMap(\.label).filter { !$0.text.isEmpty }
      // Before the first unlock no label can be read. Most programs look for this wallet before they open it.
      if Self.hidesLabel(all), !names.contains(standard) { names.append(standard) }
      let first = ExactName(Self.firstLabel)
      if !names.contains(standard), let place = names.firstIndex(of: first),
        all.first(where: { $0.label == first })?.path == (try defaultCollection(vault))
      {
        names[place] = standard
      }
      // If two collections have the same label, the first collection is the wallet.
      var seen: Set<ExactName> = []
      return names.filter { seen.insert($0).inserted }
    }
  }

  /// Looks for a wallet.
  ///
  /// The default collection of a new vault gets the name of the standard wallet, as `latchkey import kwallet` gives it: KDE's own proxy
  /// looks there by that label, or by the alias.
  func find(_ wallet: ExactName, standard: ExactName) throws(BusError) -> FoundWallet {
    let place = try link.with { vault throws(BusError) -> FoundWallet in
      let all = try collections(vault)
      if let found = all.first(where: { $0.label == wallet }) {
        return found.isLocked ? .locked(found.path) : .open(found.path)
      }
      let home = try defaultCollection(vault)
      // A collection with a sealed label may be the wallet.
      if Self.hidesLabel(all) { return .locked(home) }
      guard wallet == standard, let first = all.first(where: { $0.path == home }),
        first.label == ExactName(Self.firstLabel)
      else { return .missing }
      guard !first.isLocked else { return .locked(first.path) }
      try vault.set("Label", of: first.path, on: ServiceConnection.collection, "s") { $0.appendString(wallet.text) }
      return .open(first.path)
    }
    if case .open(let path) = place { note(path, of: wallet) }
    return place
  }

  private static func hidesLabel(_ all: [Collection]) -> Bool {
    all.isEmpty || all.contains { $0.label == nil && $0.isLocked }
  }

  private func note(_ path: String, of wallet: ExactName) {
    if placesGeneration != link.generation { forgetPlaces() }
    placesGeneration = link.generation
    places[wallet] = path
  }

  /// The collection of a wallet that is open here; nil if it is gone.
  private func home(of wallet: ExactName, _ vault: ServiceConnection) throws(BusError) -> String? {
    if placesGeneration == link.generation, let path = places[wallet] { return path }
    let all = try collections(vault)
    if let found = all.first(where: { $0.label == wallet }) {
      note(found.path, of: wallet)
      return found.path
    }
    // A collection with a sealed label may be the wallet.
    guard !Self.hidesLabel(all) else { throw BusError(name: BusError.lockedName, message: "no label can be read") }
    return nil
  }

  /// The answer of `Unlock` and `CreateCollection`.
  enum Step {
    case done
    /// The prompt that a person must answer first.
    case prompt(String)
  }

  /// Asks the vault to unlock an object.
  func unlock(_ path: String) throws(BusError) -> Step {
    try link.with { vault throws(BusError) in
      try vault.call(ServiceConnection.root, ServiceConnection.service, "Unlock") {
        $0.appendObjectPaths([path])
      } read: { (answer: Message) throws(BusError) in
        _ = try answer.readObjectPaths()
        let prompt = try answer.readObjectPath()
        return prompt == ServiceConnection.none ? .done : .prompt(prompt)
      }
    }
  }

  /// Makes the collection of a new wallet.
  func create(_ wallet: ExactName) throws(BusError) -> Step {
    try link.with { vault throws(BusError) in
      try vault.call(ServiceConnection.root, ServiceConnection.service, "CreateCollection") { out in
        out.appendDictionary("sv") { all in
          all.appendProperty("\(ServiceConnection.collection).Label", "s") { $0.appendString(wallet.text) }
        }
        out.appendString("")
      } read: { (answer: Message) throws(BusError) in
        _ = try answer.readObjectPath()
        let prompt = try answer.readObjectPath()
        return prompt == ServiceConnection.none ? .done : .prompt(prompt)
      }
    }
  }

  /// Deletes a wallet's collection if it has only entries, else its entries. The default collection stays.
  ///
  /// - Parameter erase: deletes the entries of a collection that stays.
  /// - Returns: false if there is no such wallet.
  func delete(
    _ wallet: ExactName, standard: ExactName, erase: ([Entry]) throws(BusError) -> Void
  ) throws(BusError) -> Bool {
    guard case .open(let path) = try find(wallet, standard: standard) else { return false }
    let entries = try entries(of: wallet)
    try checkAreReadable(entries)
    let isDone = try link.with { vault throws(BusError) -> Bool in
      guard try defaultCollection(vault) != path else { return false }
      let items = try vault.get("Items", .paths, of: path, on: ServiceConnection.collection)
      guard Set(items) == Set(entries.map(\.path)) else { return false }
      // The collection and its entries in one step: a lock between two steps would leave an empty wallet.
      try vault.call(path, ServiceConnection.collection, "Delete") { _ in
      }
      return true
    }
    guard isDone else {
      try erase(entries)
      return true
    }
    places[wallet] = nil
    for entry in entries { known[entry.path] = nil }
    return true
  }

  // MARK: - entries

  /// The entries of a wallet with this folder and this name; nil stands for any. The last changed first.
  func entries(
    of wallet: ExactName, folder: ExactName? = nil, name: ExactName? = nil
  ) throws(BusError) -> [Entry] {
    guard let home = try link.with({ vault throws(BusError) in try home(of: wallet, vault) }) else { return [] }
    var attributes = [Self.schemaName: Self.schema]
    attributes["server"] = folder?.text
    attributes["user"] = name?.text
    let found = try link.with { vault throws(BusError) in
      try vault.call(ServiceConnection.root, ServiceConnection.keychain, "Find") { out in
        out.appendArray("a{ss}", of: [attributes]) { $0.appendStringDictionary($1) }
        out.appendUInt32(0)
        out.appendObjectPath(ServiceConnection.none)
      } read: { (answer: Message) throws(BusError) in
        _ = try answer.readBool()
        return try answer.readArray("(oaya{ss}sttssyb)") { (message: Message) throws(BusError) in
          try message.readStruct("oaya{ss}sttssyb") { (item: Message) throws(BusError) in try Self.entry(item, home) }
        }
      }
    }.compactMap { $0 }.filter { (folder == nil || $0.folder == folder) && (name == nil || $0.name == name) }
    for entry in found { known[entry.path] = .init(wallet: wallet, folder: entry.folder, name: entry.name) }
    return found
  }

  /// The entry of that name. If programs left several entries of different forms, the entry that was changed last counts.
  func entry(_ name: ExactName, in folder: ExactName, of wallet: ExactName) throws(BusError) -> Entry? {
    try entries(of: wallet, folder: folder, name: name).first
  }

  /// The entries with their secrets, as far as the secrets can be read now. The vault opens no other secret.
  func opened(_ entries: [Entry]) throws(BusError) -> [Entry] {
    var opened = entries
    let places = Dictionary(
      opened.indices.filter { opened[$0].isReadable }.map { (opened[$0].path, $0) },
      uniquingKeysWith: { first, _ in first })
    guard !places.isEmpty else { return opened }
    try link.withChannel { vault, channel throws(BusError) in
      try vault.call(ServiceConnection.root, ServiceConnection.service, "GetSecrets") { out in
        out.appendObjectPaths(places.keys)
        out.appendObjectPath(channel.path)
      } read: { (answer: Message) throws(BusError) in
        try answer.readDictionary("o(oayays)") { (item: Message) throws(BusError) in
          guard let place = places[try item.readObjectPath()] else { return try item.skip() }
          opened[place].secret = try channel.read(from: item)
        }
      }
    }
    return opened
  }

  /// One item of an answer, if the item is an entry of this collection.
  private static func entry(_ item: Message, _ home: String) throws(BusError) -> Entry? {
    let path = try item.readObjectPath()
    let identifier = try item.withBytes { Array($0) }
    let names = names(try item.readStringDictionary())
    // Skips label, both times, class and requirements.
    for _ in 0..<5 { try item.skip() }
    let isReadable = try item.readByte() == 0
    guard path.hasPrefix(home + "/"), let names else { return nil }
    return Entry(
      path: path, identifier: identifier, folder: names.folder, name: names.name, form: names.form,
      isReadable: isReadable)
  }

  /// Folder, name and form of an item with these attributes; nil for another item.
  private static func names(_ attributes: [String: String]) -> (folder: ExactName, name: ExactName, form: Form)? {
    guard attributes.count == 4, attributes[schemaName] == schema, let folder = attributes["server"],
      let name = attributes["user"], let form = attributes["type"].flatMap({ Form(rawValue: $0) })
    else { return nil }
    return (ExactName(folder), ExactName(name), form)
  }

  // MARK: - changes by other programs

  /// An item that another program changed: its places before and now.
  struct Change {
    let former: KnownEntries.EntryName?
    let now: KnownEntries.EntryName?
    /// Whether the wallet has other entries in these folders, as far as they are known.
    let formerFolderStays: Bool
    let folderIsNew: Bool
  }

  /// The changes that other programs made to entries of `wallets`.
  func changes(of items: [String], in wallets: [ExactName]) throws(BusError) -> [Change] {
    var homes: [(wallet: ExactName, prefix: String)] = []
    for wallet in wallets {
      let home = try link.with { vault throws(BusError) -> String? in try self.home(of: wallet, vault) }
      if let home { homes.append((wallet, home + "/")) }
    }
    var changes: [Change] = []
    for item in items {
      guard let wallet = homes.first(where: { item.hasPrefix($0.prefix) })?.wallet else { continue }
      let names: (folder: ExactName, name: ExactName, form: Form)?
      do throws(BusError) { names = Self.names(try attributes(ofItem: item)) } catch {
        // An entry that cannot be read now was not deleted.
        guard error.isNoSuchObject else { continue }
        names = nil
      }
      let (former, now) = (
        known[item], names.map { KnownEntries.EntryName(wallet: wallet, folder: $0.folder, name: $0.name) }
      )
      let isNew = now.map { !known.has($0.folder, in: wallet) } ?? false
      known[item] = now
      guard former != nil || now != nil else { continue }
      changes.append(
        Change(
          former: former, now: now, formerFolderStays: former.map { known.has($0.folder, in: wallet) } ?? true,
          folderIsNew: isNew))
    }
    return changes
  }

  private func attributes(ofItem path: String) throws(BusError) -> [String: String] {
    try link.with { vault throws(BusError) in
      try vault.get("Attributes", .dictionary, of: path)
    }
  }

  // MARK: - changes

  private static func attributes(_ folder: ExactName, _ name: ExactName, _ form: String) -> [String: String] {
    [schemaName: schema, "server": folder.text, "user": name.text, "type": form]
  }

  /// Stores an entry, and replaces one with the same name.
  ///
  /// The vault refuses to replace a secret that cannot be read now, so that nothing is lost behind a lock.
  func write(_ item: ForeignItem, _ name: ExactName, in folder: ExactName, of wallet: ExactName) throws(BusError) {
    let form = item.attributes["type"] ?? ""
    let attributes = Self.attributes(folder, name, form)
    let same = try entries(of: wallet, folder: folder, name: name)
    if let newest = same.first {
      try update(newest.path, attributes: newest.form.rawValue == form ? nil : attributes, secret: item.secret)
      // The value is stored. Even if former items stay, the entry has that value.
      try? delete(same.dropFirst().filter(\.isReadable))
      return
    }
    let made = try link.withChannel { vault, channel throws(BusError) in
      guard let home = try home(of: wallet, vault) else { throw .failed("the wallet's collection is gone") }
      return try vault.call(home, ServiceConnection.collection, "CreateItem") { out throws(BusError) in
        out.appendItemProperties(label: item.label, attributes: attributes)
        try channel.write(item.secret, to: &out)
        out.appendBool(true)
      } read: { (answer: Message) throws(BusError) in
        let made = try answer.readObjectPath()
        guard made != ServiceConnection.none else { throw Self.isLocked }
        return made
      }
    }
    known[made] = .init(wallet: wallet, folder: folder, name: name)
    link.passOver([made])
  }

  private static let isLocked = BusError(name: BusError.lockedName, message: "it is locked")

  /// Gives an entry another name, in one step and without its secret.
  ///
  /// - Parameter same: the items of that entry, the last changed first. The others are deleted, as they would have the former name.
  func rename(_ same: [Entry], to name: ExactName, in wallet: ExactName) throws(BusError) {
    guard let entry = same.first else { return }
    try checkAreReadable(same)
    // These are deleted first: after a failure no entry may appear under the old name.
    try delete(same.dropFirst())
    try update(
      entry.path, label: "\(entry.folder.text)/\(name.text)",
      attributes: Self.attributes(entry.folder, name, entry.form.rawValue))
    known[entry.path] = .init(wallet: wallet, folder: entry.folder, name: name)
  }

  private func update(
    _ path: String, label: String? = nil, attributes: [String: String]?, secret: Secret? = nil
  ) throws(BusError) {
    try link.withChannel { vault, channel throws(BusError) in
      try vault.update(path, label: label, attributes: attributes, secret: secret, by: channel)
    }
    link.passOver([path])
  }

  /// Refuses to change entries if the secret of one cannot be read now: a program that could not read an entry must not destroy it.
  func checkAreReadable(_ entries: [Entry]) throws(BusError) {
    guard entries.allSatisfy(\.isReadable) else { throw Self.isLocked }
  }

  /// Deletes entries, also if the vault locks meanwhile. Up to `changeLimit` of them are deleted in one step.
  func delete(_ entries: some Sequence<Entry>) throws(BusError) {
    var rest = Array(entries)[...]
    while !rest.isEmpty {
      let some = rest.prefix(Self.changeLimit)
      rest = rest.dropFirst(Self.changeLimit)
      try link.with { vault throws(BusError) in
        try vault.call(ServiceConnection.root, ServiceConnection.keychain, "Delete") { out in
          out.appendArray("(oay)", of: some) { item, entry in
            item.appendStruct("oay") { fields in
              fields.appendObjectPath(entry.path)
              fields.appendBytes(entry.identifier)
            }
          }
        } read: { _ in
        }
      }
      for entry in some { known[entry.path] = nil }
      link.passOver(some.map(\.path))
    }
  }
}
