import LatchkeyForeignKeyrings
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// KWallet's interface on the session bus: the wallets that programs have open, and the calls for them. Entries are in the vault
/// (``WalletStore``).
///
/// While the vault is locked, a program gets the empty answer that kwalletd would give. A write that would replace an unreadable
/// secret gets -1.
final class KWalletService {
  static let names = ["org.kde.kwalletd6", "org.kde.kwalletd5"]
  static let paths = ["/modules/kwalletd6", "/modules/kwalletd5"]
  /// kwalletd's name for a program without a name.
  private static let namelessProgram = "KDE System"
  /// The longest pattern and the longest name of a wallet or a program, in bytes. Names are kept in memory while the wallet is
  /// open.
  static let nameLimit = 4096

  let bus: Bus
  let signals: WalletSignals
  let link: VaultLink
  let store: WalletStore
  private let openings: WalletOpenings
  private let jobs: Jobs
  private var wallets = OpenWallets()
  private(set) var settings = WalletSettings()
  private var emptyFolders = EmptyFolders()
  private var watches: [String: BusSlot] = [:]
  private var slots: [BusSlot] = []
  /// The number of the last transaction. The first number is random, so that no program mistakes a transaction for one of an
  /// earlier process.
  private var lastTransaction = Int32.random(in: 1..<1 << 30)
  private let notice: FormerWalletsNotice

  init(bus: Bus, loop: EventLoop, jobs: Jobs) throws {
    self.bus = bus
    self.jobs = jobs
    signals = WalletSignals(bus: bus, paths: Self.paths)
    link = VaultLink(loop: loop, jobs: jobs)
    store = WalletStore(link)
    notice = FormerWalletsNotice(bus)
    var current: () -> WalletSettings = { WalletSettings() }
    openings = WalletOpenings(store, link, jobs) { current() }
    current = { [unowned self] in settings }
    link.collectionsChanged = { [unowned self] in
      store.forgetPlaces()
      signals.emit("walletListDirty")
    }
    link.itemsChanged = { [unowned self] items in announce(items) }
    try export()
  }

  /// Offers the interface at both paths. The interface can list only one signature of a method, so other handlers accept its other
  /// forms.
  private func export() throws {
    let all = members
    var seen: Set<String> = []
    let first = all.filter { seen.insert($0.name).inserted }
    let interface = ObjectInterface(
      WalletSignals.interface,
      methods: first.map { member in
        ObjectInterface.Method(
          member.name, input: member.input, output: member.result, flags: .sensitive, handler: member.handler)
      }, signals: WalletSignals.all)
    let exists = { (path: String) in Self.paths.contains(path) }
    slots.append(try bus.export(interface, below: "/modules", where: exists))
    for member in all where !first.contains(where: { $0.name == member.name && $0.signature == member.signature }) {
      slots.append(
        try bus.takeOtherForm(
          of: member.name, in: WalletSignals.interface, signature: member.signature, sensitive: true, where: exists,
          handler: member.handler))
    }
    let text = Introspection.text(WalletSignals.interface, all, WalletSignals.all)
    slots.append(
      try bus.takeOtherForm(of: "Introspect", in: Introspection.interface, signature: "", where: exists) { call in
        call.reply { $0.appendString(text) }
      })
  }

  // MARK: - opening and closing

  /// Opens a wallet for the sender of a call.
  ///
  /// - Parameter answer: called with the handle, or with -1.
  func open(
    _ wallet: ExactName, _ window: Int64, _ program: ExactName, _ call: MethodCall, endsWithConnection: Bool,
    answer: @escaping (Int32) -> Void
  ) {
    guard settings.isEnabled, !wallet.text.isEmpty,
      max(wallet.text.utf8.count, program.text.utf8.count) <= Self.nameLimit
    else { return answer(-1) }
    let sender = call.sender
    watch(sender)
    openings.open(
      wallet,
      WalletOpenings.Request(
        program: program.text.isEmpty ? ExactName(Self.namelessProgram) : program, connection: sender,
        endsWithConnection: endsWithConnection, window: window > 0 ? String(window) : ""
      ) { [weak self] isOpen, isNew in
        defer { self?.unwatchIfIdle(sender) }
        guard let self, isOpen,
          let (handle, isFirst) = wallets.open(wallet, for: program, on: endsWithConnection ? sender : "")
        else { return answer(-1) }
        answer(handle)
        if isNew { signals.emit("walletCreated", wallet) }
        if isFirst {
          signals.emit("walletOpened", wallet)
          notice.tell()
        }
      })
  }

  func nextTransaction() -> Int32 {
    lastTransaction = lastTransaction == Int32.max ? 1 : lastTransaction + 1
    return lastTransaction
  }

  private func watch(_ sender: String) {
    guard watches[sender] == nil else { return }
    watches[sender] = try? bus.watchPeer(sender) { [weak self] in
      self?.jobs.add { [weak self] in self?.vanished(sender) }
    }
  }

  private func unwatchIfIdle(_ sender: String) {
    if !openings.isAwaited(by: sender), !wallets.isUsed(by: sender) { watches[sender] = nil }
  }

  private func vanished(_ sender: String) {
    watches[sender] = nil
    openings.leave(sender)
    for handle in wallets.endUses(on: sender) { _ = close(handle, force: false) }
  }

  /// Closes a wallet that no program uses any more. With `force` it closes any wallet.
  private func close(_ handle: Int32, force: Bool) -> Int32 {
    guard let name = wallets.name(of: handle) else { return -1 }
    guard wallets.close(handle, force: force, leavesOpen: settings.leavesOpen) == .closed else { return 1 }
    signals.emit("walletClosed", numbers: [handle])
    signals.emit("walletClosedId", numbers: [handle])
    signals.emit("walletClosed", name)
    if wallets.isEmpty { signals.emit("allWalletsClosed") }
    return 0
  }

  func close(_ wallet: ExactName, force: Bool) -> Int32 {
    wallets.handle(of: wallet).map { close($0, force: force) } ?? -1
  }

  func close(_ handle: Int32, force: Bool, _ program: ExactName, _ call: MethodCall) -> Int32 {
    guard wallets.contains(handle) else { return -1 }
    guard wallets.endUse(of: handle, by: program, on: call.sender) else { return 1 }
    unwatchIfIdle(call.sender)
    return close(handle, force: force)
  }

  func closeAll() {
    for handle in wallets.handles { _ = close(handle, force: true) }
  }

  func isOpen(_ handle: Int32) -> Bool { wallets.contains(handle) }
  func isOpen(_ wallet: ExactName) -> Bool { wallets.handle(of: wallet) != nil }
  func programs(of wallet: ExactName) -> [ExactName] {
    wallets.handle(of: wallet).map { wallets.programs(of: $0) } ?? []
  }

  func disconnect(_ program: ExactName, from wallet: ExactName) -> Bool {
    guard let handle = wallets.handle(of: wallet), wallets.endUses(of: handle, by: program) else { return false }
    _ = close(handle, force: false)
    signals.emit("applicationDisconnected", wallet, program)
    return true
  }

  /// Reads the settings again.
  func reconfigure() {
    settings = WalletSettings()
    guard !settings.isEnabled else { return }
    openings.refuseAll()
    closeAll()
  }

  // MARK: - wallets

  /// The wallet that a program opened.
  func wallet(_ handle: Int32, _ program: ExactName) -> ExactName? { wallets.name(of: handle, for: program) }

  func names() -> [ExactName] {
    quietly([]) { () throws(BusError) in try store.names(standard: ExactName(settings.networkWallet)) }
  }

  func delete(_ wallet: ExactName) -> Int32 {
    let isDeleted = quietly(false) { () throws(BusError) in
      try store.delete(wallet, standard: ExactName(settings.networkWallet)) { entries throws(BusError) in
        try erase(entries, of: wallet)
      }
    }
    guard isDeleted else { return -1 }
    _ = close(wallet, force: true)
    emptyFolders.forget(wallet)
    signals.emit("walletDeleted", wallet)
    signals.emit("walletListDirty")
    return 0
  }

  // MARK: - folders

  func folders(of wallet: ExactName) throws(BusError) -> [ExactName] {
    emptyFolders.of(wallet).union(try store.entries(of: wallet).map(\.folder)).sorted()
  }

  func has(_ folder: ExactName, in wallet: ExactName) throws(BusError) -> Bool {
    if emptyFolders.of(wallet).contains(folder) { return true }
    return try !store.entries(of: wallet, folder: folder).isEmpty
  }

  func create(_ folder: ExactName, in wallet: ExactName) throws(BusError) -> Bool {
    guard try !has(folder, in: wallet), emptyFolders.insert(folder, in: wallet) else { return false }
    signals.emit("folderListUpdated", wallet)
    return true
  }

  func remove(_ folder: ExactName, from wallet: ExactName) throws(BusError) -> Bool {
    let entries = try store.entries(of: wallet, folder: folder)
    try erase(entries, of: wallet)
    let wasNoted = emptyFolders.remove(folder, from: wallet)
    guard wasNoted || !entries.isEmpty else { return false }
    signals.emit("folderListUpdated", wallet)
    return true
  }

  // MARK: - entries

  /// Stores a value in the form in which KWallet's clients send it.
  ///
  /// - Returns: 0, or -1 if nothing was stored.
  func write(
    _ value: borrowing SecureBytes, _ kind: WalletContent.Kind, _ entry: ExactName, in folder: ExactName,
    of wallet: ExactName
  ) -> Int32 {
    do throws(ForeignFileError) {
      let item = try WalletContent.item(value, 0..<value.count, kind, folder: folder.text, entry: entry.text)
      // A malformed map or text is refused, because no program could read it again.
      guard kind == .stream || item.attributes["type"] != WalletStore.Form.base64.rawValue else { return -1 }
      return write(item, entry, in: folder, of: wallet)
    } catch {
      Journal.log(.warning, "an entry was not stored: there is no memory for it")
      return -1
    }
  }

  func write(_ item: ForeignItem, _ entry: ExactName, in folder: ExactName, of wallet: ExactName) -> Int32 {
    let isStored = quietly(false) { () throws(BusError) in
      try store.write(item, entry, in: folder, of: wallet)
      return true
    }
    guard isStored else { return -1 }
    signals.emit("folderUpdated", wallet, folder)
    signals.emit("entryUpdated", wallet, folder, entry)
    return 0
  }

  func rename(_ old: ExactName, to new: ExactName, in folder: ExactName, of wallet: ExactName) throws(BusError) -> Int32
  {
    let same = try store.entries(of: wallet, folder: folder, name: old)
    guard !same.isEmpty, try store.entry(new, in: folder, of: wallet) == nil else { return -1 }
    try store.rename(same, to: new, in: wallet)
    signals.emit("folderUpdated", wallet, folder)
    signals.emit("entryRenamed", wallet, folder, old, new)
    return 0
  }

  /// - Returns: 0, or -3 if the folder exists but lacks the entry.
  func remove(_ name: ExactName, from folder: ExactName, of wallet: ExactName) throws(BusError) -> Int32 {
    let entries = try store.entries(of: wallet, folder: folder, name: name)
    guard !entries.isEmpty else { return try has(folder, in: wallet) ? -3 : 0 }
    try erase(entries, of: wallet)
    // The folder stays, even without entries, until a program removes it.
    _ = emptyFolders.insert(folder, in: wallet)
    signals.emit("folderUpdated", wallet, folder)
    signals.emit("entryDeleted", wallet, folder, name)
    return 0
  }

  /// Deletes entries. If one of the secrets is locked, it deletes none.
  private func erase(_ entries: [WalletStore.Entry], of wallet: ExactName) throws(BusError) {
    try store.checkAreReadable(entries)
    do throws(BusError) { try store.delete(entries) } catch {
      // The daemon may have ended after it had deleted some entries, so programs must read the folders again.
      for folder in Set(entries.map(\.folder)) { signals.emit("folderUpdated", wallet, folder) }
      throw error
    }
  }

  /// Tells programs about another client's changes to entries of open wallets.
  private func announce(_ items: [String]) {
    guard !wallets.isEmpty else { return }
    let changes = quietly([]) { () throws(BusError) in try store.changes(of: items, in: wallets.names) }
    for change in changes {
      if let former = change.former, let now = change.now, former != now, former.folder == now.folder {
        signals.emit("folderUpdated", now.wallet, now.folder)
        signals.emit("entryRenamed", now.wallet, now.folder, former.name, now.name)
        continue
      }
      if let former = change.former, change.now?.folder != former.folder {
        signals.emit("folderUpdated", former.wallet, former.folder)
        signals.emit("entryDeleted", former.wallet, former.folder, former.name)
        if !change.formerFolderStays { signals.emit("folderListUpdated", former.wallet) }
      }
      if let now = change.now {
        if change.folderIsNew { signals.emit("folderListUpdated", now.wallet) }
        signals.emit("folderUpdated", now.wallet, now.folder)
        signals.emit("entryUpdated", now.wallet, now.folder, now.name)
      }
    }
  }

  /// Runs `body`, which calls the vault. If it fails, returns `otherwise`, and logs the failure unless the vault is only locked.
  func quietly<Value>(_ otherwise: Value, _ body: () throws(BusError) -> Value) -> Value {
    do throws(BusError) { return try body() } catch {
      if !error.isLocked { Journal.log(.warning, "the vault refused a call: \(error)") }
      return otherwise
    }
  }
}
