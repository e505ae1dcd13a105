import LatchkeyGettext
import LatchkeySecretClient
import LatchkeySystemd

/// A form into which an export turns items.
protocol ExportForm {
  mutating func begin(_ collection: ListedCollection) throws
  /// - Returns: the outcome, and the reason for it.
  mutating func add(_ item: ListedItem, _ secret: Secret) throws -> (ExportReport.Outcome, String)
  mutating func end() throws
  mutating func finish() throws
}

/// The vault's items for an export, one at a time, each with its secret, or with the reason why it is left out.
struct ExportSource {
  let vault: VaultConnection
  private let choice: ExportChoice
  private let channel: SecretChannel
  private let progress: Progress
  private(set) var report: ExportReport

  init(_ vault: VaultConnection, _ choice: ExportChoice, showsProgress: Bool = true) throws {
    (self.vault, self.choice) = (vault, choice)
    progress = Progress(isWanted: showsProgress)
    channel = try vault.openChannel()
    report = ExportReport(isDry: choice.dryRun)
  }

  mutating func note(_ text: String) { report.notices.append(text) }
  mutating func wrote(_ file: String?) { report.file = file }

  /// The chosen collections. Items in "session" end with the session.
  func collections() throws -> [ListedCollection] {
    let all = try ListedCollection.all(from: vault).filter { $0.name != "session" }
    let found = all.filter(choice.takes)
    if let missing = choice.collection.first(where: { name in !all.contains { [$0.label, $0.name].contains(name) } }) {
      let names = all.map(\.title).joined(separator: ", ")
      throw Failure.declined(
        translated("there is no collection '\(missing)'. There are: \(names). Nothing was exported."))
    }
    return found
  }

  /// Passes every item that may leave to `form`, or to no form in a rehearsal.
  ///
  /// - Returns: whether everything was done, and no signal came meanwhile.
  mutating func pour<Form: ExportForm>(into form: inout Form?) throws -> Bool {
    Interruption.hold()
    defer { progress.end() }
    for collection in try collections() where !Interruption.hasArrived {
      try form?.begin(collection)
      try read(collection) { try form?.add($0, $1) ?? (.exported, "") }
      if !Interruption.hasArrived { try form?.end() }
    }
    guard !Interruption.hasArrived else { return false }
    try form?.finish()
    Interruption.forget()
    return true
  }

  private mutating func read(
    _ collection: ListedCollection, _ take: (ListedItem, Secret) throws -> (ExportReport.Outcome, String)
  ) throws {
    if collection.isLocked, choice.isAsking, !choice.dryRun { try vault.unlock(collection.path) }
    let items = try ListedItem.described(
      try ItemSelector.items(try collection.items(from: vault), from: vault), from: vault)
    for item in items where !Interruption.hasArrived {
      progress.show(translated("\(report.items) items, \(collection.title)"))
      report.add(try line(for: item, of: collection, take))
    }
  }

  private func line(
    for item: ListedItem, of collection: ListedCollection,
    _ take: (ListedItem, Secret) throws -> (ExportReport.Outcome, String)
  ) throws -> ExportReport.Line {
    func left(_ reason: String) -> ExportReport.Line {
      ExportReport.Line(outcome: .left, item, in: collection, reason: reason)
    }
    if let objection = choice.objection(to: item) { return left(objection) }
    guard item.label != nil, !item.isLocked || !(item.require ?? "").isEmpty else {
      let reason = item.reason ?? translated("its collection is locked")
      return left(translated("it is locked: \(reason)"))
    }
    if choice.dryRun { return ExportReport.Line(outcome: .exported, item, in: collection) }
    let secret: Secret
    do { secret = try self.secret(of: item) } catch let error as BusError {
      if error.isStandard("Disconnected") || error.isStandard("NoReply") { throw error }
      return left(error.isNoSuchObject ? translated("it was deleted meanwhile") : error.told)
    } catch Failure.stillLocked(let reason), Failure.locked(let reason) {
      return left(reason.split(separator: "\n").first.map(String.init) ?? reason)
    } catch Failure.cancelled where Interruption.hasArrived { return left(translated("you stopped the export")) }
    let (outcome, reason) = try take(item, secret)
    return ExportReport.Line(outcome: outcome, item, in: collection, reason: reason)
  }

  private func secret(of item: ListedItem) throws -> Secret {
    guard !(item.require ?? "").isEmpty else { return try vault.secret(of: item.path, by: channel) }
    return try vault.opening(item.path, asking: choice.isAsking) { try vault.secret(of: item.path, by: channel) }
  }
}

extension ExportReport.Line {
  init(
    outcome: ExportReport.Outcome, _ item: ListedItem, in collection: ListedCollection, reason: String = ""
  ) {
    self.init(
      outcome: outcome, collection: collection.title, label: item.label ?? translated("(its label cannot be read now)"),
      path: item.place, reason: reason)
  }
}
