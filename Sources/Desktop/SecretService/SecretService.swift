import LatchkeyGcrypt
import LatchkeyKeybag
import LatchkeyPrompts
import LatchkeySodium
import LatchkeySystemd
import LatchkeyVault

/// The object tree of `org.freedesktop.secrets` on one bus connection (Secret Service 0.2).
///
/// It answers by the keys that the vault has at the moment. No answer waits for a person: where one would have to be
/// asked, the client gets a prompt object.
public final class SecretService {
  /// The well-known name.
  public static let busName = "org.freedesktop.secrets"

  let bus: Bus
  let loop: EventLoop
  /// Which collections and items there are.
  let tree: CollectionTree
  var vault: Vault { tree.vault }
  /// Where persons are asked.
  let promptQueue: PromptQueue
  unowned let delegate: any SecretServiceDelegate

  var sessions = TransportSessions()
  var prompts: [String: Prompt] = [:]
  private(set) lazy var grants = AccessGrants(
    loop: loop, used: { [promptQueue] in promptQueue.used($0, by: $1) },
    changed: { [weak self] in self?.doubt($0, by: $1) })
  var fingerWaits: [FingerWait] = []
  var verificationWaits: [VerificationWait] = []
  /// Why no finger opens an item, as somebody found who asked for it last.
  public var fingerProblems: [Int64: String] = [:]
  var portalRequests: [PortalRequest.Key: PortalRequest] = [:]
  /// The applications for which somebody was asked in vain, and when, since keys last came or went.
  var portalRefusals: [String: ContinuousClock.Instant] = [:]
  /// Which keys were there when the portal was served last.
  var portalKeys = (session: false, unlocked: false)
  private var peers: [String: BusSlot] = [:]
  private var numbers = FreshNumbers()
  private var slots: [BusSlot] = []
  /// Answers that must not be empty before the whole database was looked at.
  private var waitingForVerification: [() -> Void] = []
  /// The key of the next encrypted session, drawn while nobody waits.
  private var nextAgreement: KeyAgreement?
  private var preparation: EventSource?
  /// What clients know of items, the idle work that tells them what is different, and how many it told since keys last came
  /// or went.
  var known = KnownItems()
  private(set) var announcement: EventSource?
  var toldItems = 0
  /// The deprecated classes that the log has told of.
  private var warnedOf: Set<AccessibilityClass> = []
  var announcedLocks: [CollectionPlace: Bool] = [:]
  /// Collections of which is still to be said that items came or went.
  var changedContents: [CollectionPlace: EventSource] = [:]

  /// Puts the objects on `bus`. The well-known name is the caller's to ask for, afterwards.
  ///
  /// - Parameter delegate: must live as long.
  /// - Throws: ``SystemdError`` when the bus layer cannot take them.
  public init(
    bus: Bus, loop: EventLoop, vault: Vault, promptQueue: PromptQueue, delegate: any SecretServiceDelegate
  ) throws {
    self.bus = bus
    self.loop = loop
    tree = try CollectionTree(vault)
    self.promptQueue = promptQueue
    self.delegate = delegate
    let service = serviceInterface
    let collection = collectionInterface
    let item = itemInterface
    let access = itemAccessInterface
    slots = [
      try bus.export(service, below: ObjectPath.root) { $0 == ObjectPath.root },
      try bus.export(clientInterface, below: ObjectPath.root) { $0 == ObjectPath.root },
      try bus.export(keychainInterface, below: ObjectPath.root) { $0 == ObjectPath.root },
      try bus.export(passwordInterface, below: ObjectPath.root) { $0 == ObjectPath.root },
      try bus.export(sessionInterface, below: ObjectPath.sessions) { [unowned self] in sessions[$0] != nil },
      try bus.export(promptInterface, below: ObjectPath.prompts) { [unowned self] in prompts[$0] != nil },
      try bus.export(toldPromptInterface, below: ObjectPath.prompts) { [unowned self] in prompts[$0] != nil },
      try bus.export(portalInterface, below: PortalRequest.portal) { $0 == PortalRequest.portal },
      try bus.export(portalRequestInterface, below: "/") { [unowned self] path in
        portalRequests.keys.contains { $0.handle == path }
      },
    ]
    slots += try refuseAbsentObjects()
    for prefix in [ObjectPath.collections, ObjectPath.aliases] {
      slots.append(
        try bus.export(collection, below: prefix) { [unowned self] path in
          guard case .collection(let name) = ObjectPath(path) else { return false }
          return tree.exists(name)
        })
      for interface in [item, access] {
        slots.append(
          try bus.export(interface, below: prefix) { [unowned self] path in
            // Whether the item itself is there is found out by the call: asking twice would cost every call a query.
            guard case .item(let name, _) = ObjectPath(path) else { return false }
            return tree.exists(name)
          })
      }
    }
    preparation = try loop.addIdle { [unowned self] in
      if nextAgreement == nil { nextAgreement = try? KeyAgreement() }
      return false
    }
    announcement = try loop.addIdle { [unowned self] in announceItems() }
    // sd-bus asks the nearest one above a path only.
    for prefix in [ObjectPath.root, ObjectPath.collections, ObjectPath.aliases] {
      slots.append(try bus.addNodeEnumerator(below: prefix) { [unowned self] path in children(of: path) })
    }
  }

  /// The bus is lost: what its clients wanted nobody wants any more, and nobody is told. This object is of no use then.
  /// Its handlers hold it, so it must be told.
  public func disconnect() {
    slots = []
    (preparation, announcement, known) = (nil, nil, KnownItems())
    waitingForVerification = []
    (fingerWaits, verificationWaits) = ([], [])
    changedContents = [:]
    promptQueue.cancel(prompts.values.compactMap(\.ticket) + portalRequests.values.compactMap(\.ticket))
    for prompt in prompts.values { drop(prompt, telling: false) }
    for request in portalRequests.values { drop(request) }
    prompts = [:]
    portalRequests = [:]
    grants.removeAll()
  }

  // MARK: - paths

  /// The last part of a collection's path, by which a person may name it.
  public static func pathName(ofCollection id: Int64) -> String { CollectionPlace.vault(id).name }

  /// How a person may name an item, as `login/5`.
  public static func pathName(ofItem id: Int64, in vault: Vault) -> String {
    guard let collection = try? vault.reader.collection(ofItem: id) else { return "an item" }
    return "\(pathName(ofCollection: collection))/\(id)"
  }

  private func children(of path: String) -> [String] {
    let paths = tree.places.map(\.path) + tree.itemPaths(below: path)
    // Direct children only: one that is named with its parents in front is no member of the parent's own list.
    return (paths + sessions.allPaths + prompts.keys).filter { ObjectPath.parent(of: $0) == path }
  }

  /// A number, and a path with it, that neither this service nor a former one has used.
  func freshPath(below prefix: String) -> (number: UInt64, path: String) {
    let number = numbers.take()
    return (number, path(number: number, below: prefix))
  }

  private func path(number: UInt64, below prefix: String) -> String { prefix + "/s\(number)" }

  /// The key of an encrypted session that begins now, where one is ready; the next one is drawn in an idle turn.
  func takeAgreement() -> KeyAgreement? {
    defer { preparation?.resume() }
    return nextAgreement.take()
  }

  // MARK: - clients

  /// Remembers that `client` owns something, so that it ends when the client is gone.
  func watch(_ client: String) {
    guard peers[client] == nil else { return }
    peers[client] = try? bus.watchPeer(client) { [weak self] in self?.forget(client) }
  }

  private func forget(_ client: String) {
    peers[client] = nil
    sessions.removeAll(of: client)
    grants.forget(client: client)
    known.forget(client: client)
    fingerWaits.removeAll { $0.call.sender == client }
    verificationWaits.removeAll { $0.call.sender == client }
    let dropped = prompts.values.filter { $0.owner == client }
    prompts = prompts.filter { $0.value.owner != client }
    let given = portalRequests.values.filter { $0.key.owner == client }
    portalRequests = portalRequests.filter { $0.key.owner != client }
    // All at once: none of them is to come up because another went.
    promptQueue.cancel(dropped.compactMap(\.ticket) + given.compactMap(\.ticket))
    for prompt in dropped { drop(prompt, telling: false) }
    for request in given { drop(request) }
  }

  /// One line in the log for each class, not for each item: a program may store any number.
  func warnIfDeprecated(_ accessibility: AccessibilityClass, of item: ItemPlace) {
    guard accessibility.isDeprecated, warnedOf.insert(accessibility).inserted else { return }
    Journal.log(
      .warning,
      "\(item.path) is '\(accessibility.name)', which is deprecated: whoever has this machine's files can read it without "
        + "a password")
  }

  // MARK: - state

  /// Whether clients are to see a collection as locked. Behind a locker nobody could answer a prompt, so a collection
  /// that is merely locked then counts as open, and each item says for itself whether it can be read.
  func isLocked(_ place: CollectionPlace) throws(BusError) -> Bool {
    if place == CollectionTree.firstPlace && vault.hasNoDatabaseYet { return true }
    let (vault, collection) = tree.holder(place)
    return switch try BusError.vault({ () throws(VaultError) in try vault.state(of: collection) }) {
    case .sealed, .lockedExplicitly, .needsPassphrase: true
    case .locked: !delegate.isLockerUp
    case .unlocked: false
    }
  }

  /// To be called at every lock, whether it erases keys or not: what a person answered for does not outlive that, and
  /// neither does what waits for an answer.
  ///
  /// - Parameter collection: which one was locked by itself; nil for all.
  public func dropGrants(of collection: Int64? = nil) {
    dropFingerWaits()
    dropVerificationWaits()
    // Before anything else: what was brought is worth nothing behind the locked screen.
    for prompt in prompts.values where collection == nil || prompt.endsAtLock { prompt.given = nil }
    if let collection {
      grants.removeAll { [vault] in (try? vault.reader.collection(ofItem: $0)) == collection }
    } else {
      grants.removeAll()
    }
    for prompt in prompts.values where prompt.endsAtLock && (collection == nil || prompt.collection == collection) {
      end(prompt)
    }
    promptQueue.locked { [vault] item in collection == nil || (try? vault.reader.collection(ofItem: item)) == collection
    }
  }

  /// The same at the lock of one item.
  func dropGrants(ofItem id: Int64) {
    grants.forget(item: id)
    for prompt in prompts.values where prompt.waits(forItem: id) { end(prompt) }
    promptQueue.locked { $0 == id }
  }

  /// Lets a client use an item, because a person answered for it: once, or read it for so many seconds.
  ///
  /// - Parameter caller: who was named to the person.
  public func add(_ grant: AccessGrant, for client: String, _ caller: Caller, reuse: UInt16) {
    grants.add(grant, for: client, caller, reuse: reuse)
    tell(grant.item, to: client)
  }

  /// For how many seconds a client's next prompt lets it read; 0 for one use.
  public func reuse(of client: String) -> UInt16 { grants.reuse(of: client) }

  /// Whether a person's answer for that client stands.
  public func isGranted(_ item: Int64, for client: String) -> Bool { grants.allow(item, for: client) }

  /// The label of the item that a question about a new passphrase, or about another access control, is for; nil where nobody
  /// waits for it any more.
  public func subject(ofWaiting question: Question) -> String? {
    guard let prompt = waiting(question) else { return nil }
    switch prompt.purpose {
    case .store(let item): return item.new.label
    case .change(let change):
      let vault = tree.holder(change.item.collection).vault
      return (try? vault.reader.info(ofItem: change.item.id))?.metadata?.label
    case .unlock, .create, .password: return nil
    }
  }

  /// What is known of an item that waits for this passphrase, or was just stored with it: its collection in the vault, its
  /// number once it has one, its label, and the class that its maker named.
  public func waitingItem(
    _ question: Question
  ) -> (collection: Int64, item: Int64?, label: String, accessibility: AccessibilityClass?)? {
    guard let item = waiting(question)?.item, case .vault(let collection) = item.new.collection else { return nil }
    return (collection, item.stored?.id, item.new.label, item.new.control.accessibility)
  }

  /// The item that is to ask for something else, where the question is about one; nil for every other one.
  public func changingItem(_ question: Question) -> Int64? {
    if case .change(let change)? = waiting(question)?.purpose { change.item.id } else { nil }
  }

  /// What a question before a change is to lead to, in words; empty where nobody waits for it any more.
  public func change(for question: Question) -> String {
    if case .change(let change)? = waiting(question)?.purpose { change.words } else { "" }
  }

  /// Writes the item that waits for this passphrase.
  public func give(_ passphrase: consuming NewItemPassphrase, to question: Question) throws(BusError) {
    guard let prompt = waiting(question) else { throw .noSuchObject("") }
    switch prompt.purpose {
    case .store(let item):
      guard item.stored == nil else { return }
      do throws(BusError) {
        item.stored = try store(item.new, passphrase: passphrase, granted: item.granted, for: prompt.owner)
      } catch {
        item.failure = error
        throw error
      }
    case .change(let change):
      guard !change.isDone else { return }
      try apply(change, passphrase: passphrase)
    case .unlock, .create, .password: return
    }
  }

  /// What an item asks for was given, so that it may ask for something else.
  ///
  /// - Parameter access: what the person was shown that it asks for.
  /// - Returns: false where nobody waits for it any more, or what they were told of the change went out from something else.
  public func give(_ grant: AccessGrant, to question: Question, showing access: AccessControl) -> Bool {
    guard case .change(let change)? = waiting(question)?.purpose, change.present == access else { return false }
    change.granted = grant
    return true
  }

  /// The fingers that an item which waits is to remember; nil where it is to remember none.
  public func fingers(ofWaiting question: Question) -> FingerSet? {
    switch waiting(question)?.purpose {
    case .store(let item): item.new.fingers
    case .change(let change): change.fingers
    case .unlock, .create, .password, nil: nil
    }
  }

  private func waiting(_ question: Question) -> Prompt? {
    let number: UInt64
    switch question {
    case .itemAccess(_, let asked, _), .newItemPassphrase(let asked, _): number = asked
    default: return nil
    }
    guard let prompt = prompts[path(number: number, below: ObjectPath.prompts)] else { return nil }
    switch prompt.purpose {
    case .store(let item): return item.question == question ? prompt : nil
    case .change(let change):
      return change.question == question || change.passphraseQuestion == question ? prompt : nil
    case .unlock, .create, .password: return nil
    }
  }

  /// Tells clients what changed, after keys came or went.
  public func stateChanged() {
    for place in tree.places {
      guard let locked = try? isLocked(place), announcedLocks[place] != locked else { continue }
      announcedLocks[place] = locked
      collectionChanged(place, properties: ["Locked"])
    }
    doubtKnownItems()
    servePortal()
  }

  /// Ends what lives as long as the session only: call it when the vault was sealed.
  public func sessionEnded() {
    for item in tree.endSession() { contentsChanged(item, "ItemDeleted") }
    stateChanged()
  }

  /// Tells clients of items that are gone, though no client deleted them.
  public func deleted(_ items: [FoundItem]) {
    for item in items {
      contentsChanged(ItemPlace(collection: .vault(item.collection), id: item.id), "ItemDeleted")
    }
  }

  /// Runs `answer` when the whole database was looked at: at once, where it was.
  func whenVerified(_ answer: @escaping () -> Void) {
    if vault.isVerified { answer() } else { waitingForVerification.append(answer) }
  }

  /// To be called when the vault's verification has come to its end.
  public func verificationEnded() {
    let waiting = waitingForVerification
    waitingForVerification = []
    for answer in waiting { answer() }
  }

  static let serviceName = "org.freedesktop.Secret.Service"
  static let collectionName = "org.freedesktop.Secret.Collection"
  static let itemName = "org.freedesktop.Secret.Item"
  static let sessionName = "org.freedesktop.Secret.Session"
  static let promptName = "org.freedesktop.Secret.Prompt"
}
