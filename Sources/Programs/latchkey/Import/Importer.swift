import ArgumentParser
import Glibc
import LatchkeyClassRules
import LatchkeyForeignKeyrings
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// Stores items that were read elsewhere, one by one, and reports the outcome of each. Every item is stored as by any other
/// program, so the vault is whole after each item.
struct Importer {
  private let vault: VaultConnection
  private let channel: SecretChannel
  private let rules: [RulesFile]
  private let choice: ImportChoice
  private let progress = Progress()
  private(set) var report: ImportReport
  private var record: ImportRecord
  /// The items that replaced items of the vault.
  private var replaced: [(path: String, item: ForeignItem)] = []
  private var done = 0
  private var count = 0

  /// - Parameter source: the name that the record has for the place that is imported.
  init(_ vault: VaultConnection, rules: [RulesFile], choice: ImportChoice, source: String) throws {
    (self.vault, self.rules, self.choice) = (vault, rules, choice)
    record = ImportRecord.read(source: source)
    channel = try vault.openChannel()
    report = ImportReport(isDry: choice.dryRun)
  }

  /// Stores everything.
  ///
  /// - Parameters:
  ///   - standard: the name of the collection for programs that name no collection.
  ///   - areOurs: whether Latchkey wrote the items. In these, only the portal's secrets have their schema.
  mutating func take(_ collections: [ForeignCollection], standard: String?, areOurs: Bool = false) throws {
    let wanted = collections.filter(choice.takes).map { one in
      let items = one.items.filter(choice.takes)
      return (one, areOurs ? items : items.map(\.markedForPortal))
    }
    count = wanted.reduce(0) { $0 + $1.1.count }
    let skipped = collections.reduce(0) { $0 + $1.items.count } - count
    if skipped > 0 { keep(translated("Items that were not looked at because of --collection or --since: \(skipped).")) }
    Interruption.hold()
    defer {
      progress.end()
      keepRecord()
    }
    for (collection, items) in wanted where !items.isEmpty {
      var home = try self.home(of: collection, isStandard: collection.name == standard)
      for group in Self.groups(items) {
        if Interruption.hasArrived {
          keepRecord()
          return stop()
        }
        try take(group, into: &home)
      }
    }
    Interruption.forget()
  }

  /// Reports the progress of the import, and ends the program by the signal that came.
  private func stop() {
    progress.end()
    StandardStream.error.show(
      translated(
        "latchkey: stopped after \(done) of \(count) items. What was imported stays; run the same command again for the rest.\n"
      )
    )
    Interruption.release()
  }

  /// Saves the facts for the next import. Without them the next import leaves the vault's items as they are.
  private mutating func keepRecord() {
    guard !choice.dryRun else { return }
    noteReplaced()
    do { try record.write() } catch {
      note(
        translated(
          "~/.local/state/latchkey/imported.json was not written, so the next import replaces nothing by itself."))
    }
  }

  /// Notes the replaced items in the second after the replacement. If somebody changed such an item in the same second, its
  /// time would not show it.
  private mutating func noteReplaced() {
    guard !replaced.isEmpty, !Interruption.hasArrived else { return }
    let last = time(nil)
    while time(nil) == last { usleep(20_000) }
    for (path, item) in replaced {
      guard let present = try? ListedItem(path, from: vault), present.label == item.label,
        let secret = try? vault.secret(of: path, by: channel), secret.isEqual(to: item.secret)
      else { continue }
      record.note(path, here: present.modified, there: item.modified)
    }
    replaced = []
  }

  mutating func note(_ text: String) { report.notices.append(text) }
  /// Notes that something stays behind, so the old place is still needed.
  mutating func keep(_ text: String) {
    note(text)
    report.still_needed = true
  }
  /// Notes a file that was read, by its absolute path.
  mutating func noteFile(_ file: String) {
    guard file != ForeignFile.input else { return }
    report.files.append(FilePath.absolute(file))
  }
  mutating func leave(_ collection: String, _ label: String, _ reason: String) {
    report.add(.init(outcome: .left, collection: collection, label: label, reason: reason))
  }

  // MARK: - where to

  /// A collection of the vault, which may have to be made first.
  private struct Home {
    let title: String
    var path: String?
    /// The label of the new collection, if one has to be created. The collection's path is made from that label.
    var firstLabel: String?
  }

  /// KDE's default wallet and its collection, if the collection does not have the wallet's name.
  private var wallet: (name: String, home: Home)?

  private func home(of collection: ForeignCollection, isStandard: Bool) throws -> Home {
    if let name = choice.into { return try home(named: name) }
    if let wallet, collection.name == wallet.name { return wallet.home }
    if collection.name == "login" { return try existing(ListedCollection.named("login", from: vault)) }
    if isStandard { return try existing(ListedCollection.named(nil, from: vault)) }
    var home = try home(named: collection.label.isEmpty ? collection.name : collection.label)
    if home.path == nil { home.firstLabel = collection.firstLabel }
    return home
  }

  /// Makes the default collection of the old place the default of the vault, unless somebody chose another default in the vault
  /// already.
  mutating func makeStandard(_ collection: ForeignCollection) throws {
    guard choice.into == nil, !choice.dryRun, choice.takes(collection) else { return }
    guard try ListedCollection.named(nil, from: vault).name == "login", collection.name != "login" else { return }
    guard let path = try home(of: collection, isStandard: false).path else { return }
    try vault.call(VaultConnection.root, VaultConnection.service, "SetAlias") { out in
      out.appendString("default")
      out.appendObjectPath(path)
    } read: { _ in
    }
    note(translated("Programs that name no collection store in '\(collection.label)' now, as the file says."))
  }

  /// Makes sure that KDE's programs find the items of their default wallet. Programs of Frameworks 6.14 to 6.28 look for a
  /// collection with the wallet's label, and make an empty one if there is none. Later versions look in the default collection. One
  /// collection serves all versions, if nobody has given the default collection another label yet.
  mutating func place(defaultWallet wallet: ForeignCollection) throws {
    guard choice.into == nil, choice.takes(wallet), wallet.items.contains(where: choice.takes) else { return }
    let standard = try ListedCollection.named(nil, from: vault)
    guard standard.label != wallet.label else { return }
    let hasOwn = try ListedCollection.all(from: vault).contains { $0.label == wallet.label }
    guard !hasOwn, standard.name == "login", standard.label == ListedCollection.firstLabel else {
      return note(
        translated(
          """
          KDE Frameworks 6.29 and later look in your default collection, '\(standard.title)', and not in \
          '\(wallet.label)'. To import for them, add '--into \(standard.title)'.
          """))
    }
    self.wallet = (wallet.name, Home(title: wallet.label, path: standard.path))
    if choice.dryRun {
      return note(
        translated(
          """
          Your default collection '\(standard.label)' would be called '\(wallet.label)': KDE's programs look for their \
          default wallet by that label.
          """))
    }
    try vault.opening(standard.path, asking: choice.isAsking) {
      try vault.set("Label", of: standard.path, on: VaultConnection.collection, "s") { $0.appendString(wallet.label) }
    }
    note(
      translated(
        """
        Your default collection '\(standard.label)' is called '\(wallet.label)' now: KDE's programs look for their default \
        wallet by that label.
        """))
  }

  /// Puts the items of KDE's default wallet into the default collection, if KDE's settings name that collection instead.
  mutating func place(formerDefaultWallet wallet: ForeignCollection, standard label: String) throws {
    let standard = try ListedCollection.named(nil, from: vault)
    if standard.label == label { self.wallet = (wallet.name, existing(standard)) }
  }

  private func existing(_ found: ListedCollection) -> Home { Home(title: found.title, path: found.path) }

  private func home(named name: String) throws -> Home {
    let all = try ListedCollection.all(from: vault)
    let found = all.first { $0.label == name } ?? all.first { $0.name == name }
    return found.map(existing) ?? Home(title: name)
  }

  private func make(_ home: inout Home) throws -> String {
    if let path = home.path { return path }
    let label = home.firstLabel.flatMap { $0.isEmpty ? nil : $0 } ?? home.title
    let made = try vault.makeCollection(label: label)
    let path = try made.prompt.map { try vault.perform($0) ?? "" } ?? made.collection
    guard path.hasPrefix(ListedCollection.folder) else {
      throw Failure.declined(translated("the collection '\(home.title)' was not made, so its items were not imported."))
    }
    home.path = path
    if label != home.title {
      // Programs look for the collection by its path at the old place. The path comes from the first label, so the collection gets
      // its own label only now.
      try vault.set("Label", of: path, on: VaultConnection.collection, "s") { $0.appendString(home.title) }
    }
    return path
  }

  // MARK: - items

  /// Items that differ only in their secrets. They have the same attributes, with an implied schema, or no attributes and the
  /// same label.
  private static func groups(_ items: [ForeignItem]) -> [[ForeignItem]] {
    var order: [[String: String]] = []
    var found: [[String: String]: [ForeignItem]] = [:]
    for item in items {
      let attributes = GenericSchema.leftOut(of: item.attributes)
      let key = attributes.isEmpty ? ["": item.label] : attributes
      if found[key] == nil { order.append(key) }
      found[key, default: []].append(item)
    }
    return order.compactMap { found[$0] }
  }

  /// An item of the vault, and its secret if it can be read without a question.
  private struct Present {
    let item: ListedItem
    let secret: Secret?

    func has(_ other: Secret) -> Bool { secret?.isEqual(to: other) ?? false }
  }

  private func present(_ first: ForeignItem, in path: String?) throws -> [Present] {
    guard let path else { return [] }
    let found = try vault.items(with: first.attributes, in: path, asking: choice.isAsking)
    let isToldByLabel = GenericSchema.leftOut(of: first.attributes).isEmpty
    return try found.filter { !isToldByLabel || $0.label == first.label }.map { item in
      guard (item.require ?? "").isEmpty else { return Present(item: item, secret: nil) }
      let secret = try vault.naming(item) {
        try vault.opening(item.path, asking: choice.isAsking) {
          try vault.secret(of: item.path, by: channel)
        }
      }
      return Present(item: item, secret: secret)
    }
  }

  /// Pairs equal items first, then the remaining items of both sides.
  private mutating func take(_ group: [ForeignItem], into home: inout Home) throws {
    guard let first = group.first else { return }
    if first.attributes.keys.contains(where: { $0.hasPrefix(ClassRule.reservedPrefix) }) {
      for item in group {
        add(
          .left, item, home,
          reason: translated("attributes that begin with \(ClassRule.reservedPrefix) are the vault's own"))
      }
      return
    }
    var present: [Present] = []
    if let refusal = try refusal({ present = try self.present(first, in: home.path) }) {
      for item in group { add(.left, item, home, reason: refusal) }
      return
    }
    var others: [ForeignItem] = []
    var relabelled: [(ForeignItem, Present)] = []
    // Items that also have the same label come first, because the others certainly differ in the label.
    for item in group {
      if let index = present.firstIndex(where: { $0.item.label == item.label && $0.has(item.secret) }) {
        addSame(item, present.remove(at: index), home)
      } else {
        others.append(item)
      }
    }
    others = others.filter { item in
      guard let index = present.firstIndex(where: { $0.has(item.secret) }) else { return true }
      relabelled.append((item, present.remove(at: index)))
      return false
    }
    for (item, mine) in relabelled { try relabel(item, mine, home) }
    if let mine = present.first, others.count > 1 || present.count > 1 && !others.isEmpty {
      // The command cannot know which item replaces which other item.
      let reason =
        translated(
          """
          \(others.count) there and \(present.count) here have the same attributes and different secrets, so none was \
          replaced; to keep all of them, import into another collection with --into
          """)
      for item in others { add(.conflict, item, home, mine.item.accessibility, reason: reason, conflict: .settled) }
      return
    }
    for item in others {
      if let mine = present.first { try settle(item, with: mine, home) } else { try store(item, into: &home) }
    }
  }

  private mutating func store(_ item: ForeignItem, into home: inout Home) throws {
    let protection = item.protection
    if !protection.accessible.isEmpty && AccessibilityClass(name: protection.accessible) == nil {
      return add(
        .left, item, home, reason: translated("this version does not know its class '\(protection.accessible)'"))
    }
    if (try? AccessControl(text: protection.require)) == nil {
      return add(
        .left, item, home, reason: translated("this version does not know what it requires, '\(protection.require)'"))
    }
    let decision = ClassRules.decision(for: item.attributes, in: rules)
    let accessibility =
      AccessibilityClass(name: protection.accessible) ?? decision?.rule.accessibility ?? .whenUnlocked
    let rule = decision.map { translated("rule '\($0.rule.name)', \($0.path):\($0.rule.line)") }
    if !choice.dryRun {
      let path = try make(&home)
      var stored: String?
      let refusal = try refusal { stored = try send(item, to: path) }
      if let refusal { return add(.left, item, home, reason: refusal) }
      // Without a time, no item of the old place counts as newer.
      if let stored, item.modified > 0 { record.note(stored, here: item.modified, there: item.modified) }
    }
    let reason = protection.accessible.isEmpty ? rule ?? translated("default class") : translated("its class there")
    add(.new, item, home, accessibility, reason: reason)
  }

  /// Stores the item in the vault. An item with its own passphrase gets a new passphrase from a prompt.
  ///
  /// - Returns: the item's place.
  private func send(_ item: ForeignItem, to path: String) throws -> String {
    var attributes = item.attributes
    let protection = item.protection
    if !protection.accessible.isEmpty { attributes[ItemAttributes.className] = protection.accessible }
    if !protection.require.isEmpty { attributes[ItemAttributes.requireName] = protection.require }
    let created = item.created > 0 ? item.created : item.modified
    let times = ["Created": created, "Modified": item.modified].filter { $0.value > 0 }
    let stored = try vault.opening(path, asking: choice.isAsking) {
      try vault.store(
        item.secret, label: item.label, attributes: attributes, in: path, replacing: false, times: times, by: channel)
    }
    guard let prompt = stored.prompt else { return stored.item }
    guard choice.isAsking, let made = try vault.perform(prompt) else {
      throw BusError.failed(translated("it has a passphrase of its own there, and nobody chose one for it here"))
    }
    return made
  }

  /// The decision about an item that has another secret or label at the old place, with the reason.
  private func decision(
    _ item: ForeignItem, _ present: ListedItem
  ) -> (outcome: ImportReport.Outcome, reason: String) {
    let origin = record.origin(of: present)
    let isNewer = item.modified > origin ?? present.modified
    let isOlder = item.modified > 0 && item.modified < origin ?? present.modified
    if choice.prefer == .there { return (isNewer ? .newerThere : .replaced, isOlder ? translated("newer here") : "") }
    if isOlder { return (.newerHere, "") }
    guard isNewer else {
      return (
        .conflict,
        item.modified == 0
          ? translated("the old place does not tell when it was changed")
          : translated("changed at the same time at both places")
      )
    }
    if choice.prefer == .here { return (.conflict, translated("newer there")) }
    if origin != nil { return (.newerThere, translated("not changed here since it was imported")) }
    if record.has(present) {
      return (.conflict, translated("newer there, but changed here too since it was imported"))
    }
    if choice.prefer == .newer { return (.newerThere, "") }
    return (.conflict, translated("newer there, but the item here is not imported; --prefer newer takes the one there"))
  }

  /// Decides between two labels of the same secret.
  private mutating func relabel(_ item: ForeignItem, _ present: Present, _ home: Home) throws {
    let decision = decision(item, present.item)
    guard present.item.label != nil, decision.outcome.takesTheirs else {
      return add(.same, item, home, present.item.accessibility)
    }
    try replace(present, with: item, secret: nil, home, decision.outcome, reason: translated("only the label differs"))
  }

  /// Decides between two secrets.
  private mutating func settle(_ item: ForeignItem, with present: Present, _ home: Home) throws {
    guard present.secret != nil else {
      let require = present.item.require ?? ""
      return add(
        .conflict, item, home, reason: translated("the vault's item requires \(require), so it was not compared"),
        conflict: .notCompared)
    }
    let (outcome, reason) = decision(item, present.item)
    guard outcome.takesTheirs else { return add(outcome, item, home, present.item.accessibility, reason: reason) }
    if let objection = item.protection.objection(to: present.item.accessibility) {
      return add(.conflict, item, home, present.item.accessibility, reason: objection, conflict: .settled)
    }
    try replace(present, with: item, secret: item.secret, home, outcome, reason: reason)
  }

  /// Gives the vault's item the label and the secret of the other item, in one step.
  private mutating func replace(
    _ present: Present, with item: ForeignItem, secret: Secret?, _ home: Home, _ outcome: ImportReport.Outcome,
    reason: String
  ) throws {
    if !choice.dryRun {
      let path = present.item.path
      let label = present.item.label == item.label ? nil : item.label
      let refusal = try refusal {
        try vault.opening(path, asking: choice.isAsking) {
          try vault.update(path, label: label, secret: secret, by: channel)
        }
      }
      if let refusal { return add(.left, item, home, reason: refusal) }
      replaced.append((path, item))
    }
    add(outcome, item, home, present.item.accessibility, reason: reason)
  }

  private mutating func addSame(_ item: ForeignItem, _ present: Present, _ home: Home) {
    record.note(present.item.path, here: present.item.modified, there: item.modified)
    add(.same, item, home, present.item.accessibility)
  }

  /// The bus's errors when the vault's service has ended.
  private static let endings = ["Disconnected", "NoReply", "ServiceUnknown", "NameHasNoOwner"]

  /// Why the vault refused one item. An error that concerns all items is thrown.
  private func refusal(_ body: () throws -> Void) throws -> String? {
    do {
      try body()
      return nil
    } catch let error as BusError
      where !error.isLocked && !Self.endings.contains(where: error.isStandard)
    {
      return error.told
    }
  }

  private mutating func add(
    _ outcome: ImportReport.Outcome, _ item: ForeignItem, _ home: Home, _ accessibility: AccessibilityClass? = nil,
    reason: String = "", conflict: ImportReport.Conflict = .undecided
  ) {
    done += 1
    progress.show(translated("\(done) of \(count) items"))
    report.add(
      .init(
        outcome: outcome, collection: home.title, label: item.label, class: accessibility?.name, reason: reason,
        conflict: conflict))
  }

  /// Makes a generation with the new items, and prints the outcome for every item.
  func finish() throws {
    if !choice.dryRun, report.hasChanged { choice.place.makeGeneration() }
    print(choice.json ? try JSONText.of(report) : report.text)
    if !report.isWhole { throw ExitCode(4) }
  }
}

extension Secret {
  /// Whether the other has the same bytes.
  func isEqual(to other: Secret) -> Bool {
    withBytes { own in other.withBytes { Sodium.equal(own, $0) } }
  }
}
