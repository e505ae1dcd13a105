import LatchkeyForeignKeyrings
import LatchkeySecretClient
import LatchkeySystemd

/// The wallets in the vault, in the layout of KDE's own proxy to the Secret Service (docs/user/kde.md). A wallet is a collection.
/// An entry is an item with the schema `org.qt.keychain`. Its other attributes are just `server` (the folder), `user` (the entry's
/// name) and `type` (the form).
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

    /// KWallet's kind of the entry.
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
  /// The known collections of wallets.
  private var places: [ExactName: String] = [:]
  private var placesGeneration = 0
  private var known = KnownEntries()

  private static let schemaName = "xdg:schema"
  private static let schema = "org.qt.keychain"
  /// The label of the default collection of a new vault.
  private static let firstLabel = "Login"
  private static let changeLimit = 4096

  init(_ link: VaultLink) { self.link = link }

  /// Called when collections came, went or got another label.
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

  /// One collection; nil if the collection was deleted.
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
  /// - Parameter standard: the wallet that KDE's settings name. The default collection appears under this name as long as it has
  ///   the label of a new vault.
  func names(standard: ExactName) throws(BusError) -> [ExactName] {
    try link.with { vault throws(BusError) in
      let all = try collections(vault)
      var names = all.compactMap(\.label).filter { !$0.text.isEmpty }
      // Before the first unlock no label can be read. This name is then listed anyway, because most programs look for this wallet
      // before they open it.
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

  /// Finds a wallet.
  ///
  /// The default collection of a new vault gets the name of the standard wallet, as in `latchkey import kwallet`. KDE's own proxy
  /// finds it by this label, or by the alias.
  func find(_ wallet: ExactName, standard: ExactName) throws(BusError) -> FoundWallet {
    let place = try link.with { vault throws(BusError) -> FoundWallet in
      let all = try collections(vault)
      if let found = all.first(where: { $0.label == wallet }) {
        return found.isLocked ? .locked(found.path) : .open(found.path)
      }
      let home = try defaultCollection(vault)
      // A collection whose label cannot be read may be the wallet.
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

  /// The collection of an open wallet; nil if the collection was deleted.
  private func home(of wallet: ExactName, _ vault: ServiceConnection) throws(BusError) -> String? {
    if placesGeneration == link.generation, let path = places[wallet] { return path }
    let all = try collections(vault)
    if let found = all.first(where: { $0.label == wallet }) {
      note(found.path, of: wallet)
      return found.path
    }
    // A collection whose label cannot be read may be the wallet.
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

  /// Creates the collection of a new wallet.
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

  /// Deletes a wallet's collection if it has nothing but entries. Otherwise it deletes only the entries. The default collection
  /// always stays.
  ///
  /// - Parameter erase: called to delete the entries of a collection that stays.
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
      // This deletes the collection with its entries in one step. With two steps, a lock between them would leave an empty wallet.
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

  /// The entries of a wallet with this folder and this name; nil means any. The entry that was changed last comes first.
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

  /// The entries, with the secrets that can be read now. The vault decrypts no other secret.
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
    let identifier = try item.readOctets()
    let names = names(try item.readStringDictionary())
    // Skips the label, the two times, the class and the requirements.
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
    /// Whether the former folder has other known entries. `folderIsNew` says whether the new folder has none.
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
        // An entry that only cannot be read now was not deleted.
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

  /// Stores an entry, and replaces an entry with the same name.
  ///
  /// The vault refuses to replace a secret that cannot be read now, so that nothing is lost behind a lock.
  func write(_ item: ForeignItem, _ name: ExactName, in folder: ExactName, of wallet: ExactName) throws(BusError) {
    let form = item.attributes["type"] ?? ""
    let attributes = Self.attributes(folder, name, form)
    let same = try entries(of: wallet, folder: folder, name: name)
    if let newest = same.first {
      try update(newest.path, attributes: newest.form.rawValue == form ? nil : attributes, secret: item.secret)
      // The value is stored. The entry has this value even if older items stay.
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
  /// - Parameter same: the items of this entry; the item that was changed last comes first and is renamed. The others are deleted,
  ///   because they would keep the former name.
  func rename(_ same: [Entry], to name: ExactName, in wallet: ExactName) throws(BusError) {
    guard let entry = same.first else { return }
    try checkAreReadable(same)
    // The others are deleted first, so that no entry appears under the old name after a failure.
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

  /// Throws if the secret of one of the entries cannot be read now, because a program that cannot read an entry must not destroy
  /// it.
  func checkAreReadable(_ entries: [Entry]) throws(BusError) {
    guard entries.allSatisfy(\.isReadable) else { throw Self.isLocked }
  }

  /// Deletes entries, even if the vault is locked meanwhile. One step deletes at most `changeLimit` entries.
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
