import LatchkeyBackupControl
import LatchkeyControl
import LatchkeyHistoryControl
import LatchkeyKeybag
import LatchkeyReasons
import LatchkeySecretService
import LatchkeySystemd
import LatchkeyVault

/// The commands of generations over the control socket: list, make, compare, restore, search and forget. Only one comparison,
/// restore, search or forgetting runs at a time, and each request makes it work for a moment. It ends when its connection ends, or
/// when the vault is locked.
final class HistoryService {
  private enum Work {
    case comparison(HistoryComparison, of: UInt32)
    case restore(HistoryRestore)
    case search(HistorySearch)
    case forgetting(HistoryForgetting, of: Int)
    /// The work has ended, for this reason.
    case failed(Reason)
  }

  /// The time limit of one answer to a list, in milliseconds. Each generation in it must be opened.
  private static let listTime = 10

  private let vault: Vault
  private let keeper: HistoryKeeper
  private let session: SessionReference
  private let presence: BusPresence
  private let upkeep: VaultUpkeep
  private unowned let observer: any KeyObserver
  /// The work under way, and the client that wants it.
  private var work: Work?
  private weak var peer: ControlPeer?
  private var isWalkOver = false
  private var isWritten = false
  /// The clients that wait for a generation.
  private var waiting: [(Result<MadeGeneration, Refusal>) -> Void] = []
  /// The newest generation at the moment when the first waiting client came.
  private var newest: UInt32 = 0

  init(
    _ vault: Vault, keeper: HistoryKeeper, session: SessionReference, presence: BusPresence, upkeep: VaultUpkeep,
    observer: any KeyObserver
  ) {
    self.vault = vault
    self.keeper = keeper
    self.session = session
    self.presence = presence
    self.upkeep = upkeep
    self.observer = observer
    keeper.worked = { [weak self] in self?.worked(hasMore: $0) }
  }

  /// Registers the messages of the control socket that this type answers.
  func serve(in table: inout ControlTable) {
    table.answer(ListGenerations.self) { [unowned self] message, _ throws(Refusal) in
      try page(below: message.below)
    }
    table.answerLater(MakeGeneration.self) { [unowned self] _, _, answer in make(answer) }
    table.answer(CompareGeneration.self) { [unowned self] message, peer throws(Refusal) in
      let number = try existing(message.number)
      return try begin(on: peer) { () throws(VaultError) in
        .comparison(try HistoryComparison(vault, with: number), of: number)
      }
    }
    table.answer(RestoreFromGeneration.self) { [unowned self] message, peer throws(Refusal) in
      // The typing person may be another than the person at the screen.
      guard !session.machine.lockerUp else { throw Refusal(.refusal(.screenLocked)) }
      // A vault without a password is opened once more for deleted collections. If that fails, the keys are erased, and the next
      // try follows as after a failed login.
      defer { if session.machine.isPasswordless, !vault.isUnlocked { observer.keysDidNotOpen() } }
      return try begin(on: peer) { () throws(VaultError) in
        .restore(
          try HistoryRestore(
            vault, from: message.number, selection(message.selection), replacing: message.takesTheirs,
            isDry: message.isDry))
      }
    }
    table.answer(GoThroughGeneration.self) { [unowned self] _, peer throws(Refusal) in try goOn(on: peer) }
    table.answer(GetComparison.self) { [unowned self] message, peer throws(Refusal) in
      try comparison(after: message.after, on: peer)
    }
    table.answer(FindInGenerations.self) { [unowned self] message, peer throws(Refusal) in
      try begin(on: peer) { () throws(VaultError) in
        .search(
          try HistorySearch(
            vault, selection(message.selection), present: Set(message.present.map { Int64(clamping: $0) })))
      }
    }
    table.answer(GetFoundItems.self) { [unowned self] message, peer throws(Refusal) in
      try found(after: message.after, on: peer)
    }
    table.answer(ForgetEverywhere.self) { [unowned self] message, peer throws(Refusal) in
      try forget(message.items, on: peer)
    }
    table.answer(GetForgetting.self) { [unowned self] _, peer throws(Refusal) in
      guard case .forgetting(let forgetting, _) = try work(on: peer), isWalkOver else {
        throw Refusal(.refusal(.searchIncomplete))
      }
      return Forgetting(changed: UInt32(clamping: forgetting.changed), unreadable: forgetting.unreadable)
    }
    table.answer(FinishRestore.self) { [unowned self] message, peer throws(Refusal) in
      try report(after: message.after, on: peer)
    }
  }

  /// Ends the work under way because the vault is locked. The next answer tells the client the reason.
  func cancel(_ reason: Reason) {
    // Taking items out of generations needs no key.
    if case .forgetting = work {} else if work != nil { work = .failed(reason) }
    vault.history.wantNone()
    tellWaiting(.failure(Refusal(reason)))
  }

  // MARK: - list

  private func page(below number: UInt32) throws(Refusal) -> GenerationPage {
    keeper.readSettings()
    let (entries, hasMore) = try Refusal.vault { () throws(VaultError) in
      try vault.history.entries(
        below: number == 0 ? .max : number, limit: GenerationPage.lineLimit, for: HistoryService.listTime)
    }
    return GenerationPage(
      isOn: vault.history.policy.isOn, settings: keeper.path, problem: problem,
      lines: entries.map { entry in
        GenerationPage.Line(
          number: entry.generation.number, time: entry.generation.time, size: UInt64(clamping: entry.generation.size),
          items: UInt64(clamping: entry.items ?? 0), problem: entry.problem)
      }, hasMore: hasMore)
  }

  private var problem: Reason? { keeper.problem ?? vault.history.problem }

  /// The number of a generation; 0 stands for the newest.
  private func existing(_ number: UInt32) throws(Refusal) -> UInt32 {
    guard number == 0 else { return number }
    _ = try Refusal.vault { () throws(VaultError) in try vault.reader.itemCount() }
    guard let newest = vault.history.generations.first?.number else {
      throw Refusal(.refusal(.noGeneration))
    }
    return newest
  }

  // MARK: - make

  private func make(_ answer: @escaping (Result<MadeGeneration, Refusal>) -> Void) {
    keeper.readSettings()
    if let refusal { return answer(.failure(Refusal(refusal))) }
    if waiting.isEmpty {
      newest = vault.history.generations.first?.number ?? 0
      vault.history.want()
    }
    waiting.append(answer)
    upkeep.goOn()
  }

  /// Why no generation can be made now; nil if one can be made.
  private var refusal: Reason? {
    if !vault.history.policy.isOn { return .generationsOff(settings: keeper.path) }
    if !vault.isUnlocked {
      return .refusal(vault.hasDatabase ? .lockedBefore : .noOpenVault)
    }
    if vault.isDamaged { return .refusal(.vaultDamaged) }
    return vault.rotation.isUnderWay ? .refusal(.keysChange) : nil
  }

  private func worked(hasMore: Bool) {
    guard !waiting.isEmpty else { return }
    if vault.history.isWanted {
      guard !hasMore else { return }
      vault.history.wantNone()
      return tellWaiting(.failure(Refusal(refusal ?? .refusal(.vaultBusy))))
    }
    if let problem = vault.history.problem { return tellWaiting(.failure(Refusal(problem))) }
    let last = vault.history.generations.first?.number ?? 0
    tellWaiting(.success(MadeGeneration(number: last, isNew: last != newest)))
  }

  private func tellWaiting(_ result: Result<MadeGeneration, Refusal>) {
    let told = waiting
    waiting = []
    for answer in told { answer(result) }
  }

  // MARK: - compare and restore

  private func begin(on peer: ControlPeer, _ body: () throws(VaultError) -> Work) throws(Refusal) -> Done {
    guard work == nil || self.peer === peer else {
      throw Refusal(.refusal(.otherHistory))
    }
    (work, isWalkOver, isWritten) = (nil, false, false)
    work = try Refusal.vault(body)
    self.peer = peer
    peer.workEnded = { [weak self, weak peer] in
      // Another client's work may have begun meanwhile.
      if let self, self.peer === peer { self.work = nil }
    }
    return Done()
  }

  private func selection(_ wanted: GenerationSelection) -> HistorySelection {
    switch wanted {
    case .everything: .everything
    case .collection(let name):
      .collection(name, id: CollectionName.number(of: name) ?? (try? vault.collections.named(name)))
    case .attributes(let attributes): .attributes(attributes)
    case .items(let numbers): .numbers(Set(numbers.map { Int64(clamping: $0) }))
    }
  }

  /// The work of this connection.
  private func work(on peer: ControlPeer) throws(Refusal) -> Work {
    guard let work, self.peer === peer else { throw Refusal(.refusal(.nothingBegun)) }
    if case .failed(let reason) = work { throw Refusal(reason) }
    return work
  }

  private func goOn(on peer: ControlPeer) throws(Refusal) -> GenerationProgress {
    let work = try work(on: peer)
    do throws(VaultError) {
      switch work {
      case .comparison(let comparison, _):
        if !isWalkOver { isWalkOver = try !comparison.step() }
        return GenerationProgress(hasMore: !isWalkOver, done: comparison.done, total: comparison.total)
      case .restore(let restore):
        if !isWalkOver { isWalkOver = try !restore.step() }
        return GenerationProgress(hasMore: !isWalkOver, done: restore.done, total: restore.total)
      case .search(let search):
        if !isWalkOver { isWalkOver = try !search.step() }
        return GenerationProgress(hasMore: !isWalkOver, done: search.done, total: 0)
      case .forgetting(let forgetting, let total):
        if !isWalkOver {
          isWalkOver = try !forgetting.step()
          // The items must leave the log too, at once and not only when the vault is quiet.
          if isWalkOver { vault.settle() }
        }
        return GenerationProgress(
          hasMore: !isWalkOver, done: UInt64(total - forgetting.left), total: UInt64(total))
      case .failed(let reason): throw .unavailable(reason)
      }
    } catch {
      self.work = .failed(error.reason)
      throw Refusal(error.reason)
    }
  }

  private func comparison(after line: UInt64, on peer: ControlPeer) throws(Refusal) -> ComparisonPage {
    guard case .comparison(let comparison, let number) = try work(on: peer), isWalkOver else {
      throw Refusal(.refusal(.comparisonIncomplete))
    }
    let lines = comparison.lines.map { line in
      ComparisonPage.Line(
        ComparisonPage.Change(rawValue: line.change.rawValue) ?? .changed, item: UInt64(clamping: line.item),
        collection: UInt64(clamping: line.home), home: line.collection, label: line.label,
        accessibility: line.accessibility, obstacle: line.obstacle)
    }
    return ComparisonPage(
      number: number, same: comparison.same, damaged: comparison.damaged, all: lines, after: line)
  }

  private func found(after line: UInt64, on peer: ControlPeer) throws(Refusal) -> FoundItemsPage {
    guard case .search(let search) = try work(on: peer), isWalkOver else {
      throw Refusal(.refusal(.restoreIncomplete))
    }
    let lines = search.lines.map { line in
      FoundItemsPage.Line(
        uuid: line.uuid, isPresent: line.isPresent, item: UInt64(clamping: line.item),
        collection: UInt64(clamping: line.home), home: line.collection, label: line.label)
    }
    return FoundItemsPage(all: lines, after: line)
  }

  private func forget(_ items: [[UInt8]], on peer: ControlPeer) throws(Refusal) -> Done {
    guard !session.machine.lockerUp else { throw Refusal(.refusal(.screenLocked)) }
    let isThere = try Refusal.vault { () throws(VaultError) in try vault.reader.hasItems(items) }
    guard !isThere else { throw Refusal(.refusal(.itemIsThere)) }
    return try begin(on: peer) { () throws(VaultError) in
      let forgetting = try vault.history.forgetEverywhere(items)
      return .forgetting(forgetting, of: forgetting.left)
    }
  }

  private func report(after line: UInt64, on peer: ControlPeer) throws(Refusal) -> ArchivePage {
    guard case .restore(let restore) = try work(on: peer), isWalkOver else {
      throw Refusal(.refusal(.restoreIncomplete))
    }
    if !isWritten {
      let changes = try Refusal.vault { () throws(VaultError) in try restore.finish() }
      isWritten = true
      presence.service?.restored(changes)
    }
    return ArchivePage(of: restore.report, after: line)
  }
}
