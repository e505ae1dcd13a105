// SecretService: the objects of `org.freedesktop.secrets` on the session bus.
//
// One class serves one interface: `ServiceObject`, `CollectionObject`, `ItemObject`, `SessionObject`, `PromptObject` of the
// specification 0.2, `KeychainObject` and others of Latchkey's own, `PortalObject` for sandboxed applications,
// `PasswordObject` of gnome-keyring's. ``SecretService`` wires these parts, and tells each part about the events around the
// vault.
//
//     let service = try SecretService(…)
//     service.stateChanged()
//
// Between the objects are parts without an interface. `CollectionTree` finds the vault of a path.
// `ItemCreation` and `PendingWrites` store items. `AccessGrants` has what a person gave one client.
// `TransportSessions` has encrypted sessions. `Signals` and `StateAnnouncer` tell clients what changed.
//
// The module promises that a client gets a secret only with the keys in memory and what the item
// requires. A grant is for one client and one item, and no grant or waiting request outlives a lock.
// Sessions and prompts belong to the client that caused them. Every call is answered, with the error
// that the specification names. One client can make the daemon keep a bounded amount only.
//
// It does not identify programs: all of a user's programs are one to D-Bus, and SECURITY.md says what
// that means. It reads and writes no file and shows no window. dbus/*.xml describes each interface, and
// a test compares it with what the daemon reports.

import LatchkeyPrompts
import LatchkeySystemd
import LatchkeyVault

/// The object tree of `org.freedesktop.secrets` on one bus connection (Secret Service 0.2): puts the parts together, and tells each
/// part the events around the vault.
///
/// Its answers depend on the keys that the vault has at the moment. No answer waits for a person. For a question to a person, the
/// client gets a prompt object.
public final class SecretService {
  /// The well-known name.
  public static let busName = "org.freedesktop.secrets"
  /// The well-known name that the portals' frontend finds in our .portal file.
  public static let portalBusName = "org.freedesktop.impl.portal.desktop.latchkey"

  /// The answers of persons, and the requests that wait for answers.
  public let answers: PromptAnswers

  private let queue: PromptQueue
  let tree: CollectionTree
  private let sessions: TransportSessions
  private let sessionObject: SessionObject
  let grants: AccessGrants
  private let signals: Signals
  let announcer: StateAnnouncer
  private let gate: VerificationGate
  private let prompts: PromptTable
  let waits: PendingWrites
  private let lockEffects: LockEffects
  private let portal: PortalObject
  private let wordSearch: CollectionSearch
  private var slots: [BusSlot] = []

  /// Puts the objects on `bus`. The caller asks for the well-known name afterwards.
  ///
  /// - Parameter delegate: must live as long.
  /// - Throws: ``SystemdError`` if the bus layer cannot take the objects.
  public init(
    bus: Bus, loop: EventLoop, vault: Vault, promptQueue: PromptQueue, delegate: any SecretServiceDelegate
  ) throws {
    queue = promptQueue
    tree = try CollectionTree(vault)
    let clients = Clients(bus)
    sessions = TransportSessions()
    sessionObject = try SessionObject(sessions, clients: clients, loop: loop)
    grants = AccessGrants(loop: loop, queue: queue)
    let locks = LockStates(tree, grants: grants, delegate: delegate)
    signals = Signals(bus, loop: loop, tree: tree, grants: grants)
    announcer = try StateAnnouncer(bus, loop: loop, tree: tree, locks: locks, signals: signals, clients: clients)
    gate = VerificationGate(vault)
    let completion = PromptCompletion(bus, tree: tree, locks: locks, announcer: announcer)
    prompts = PromptTable(loop: loop, queue: queue, clients: clients, completion: completion)
    waits = PendingWrites(gate, prompts: prompts, clients: clients, delegate: delegate)
    lockEffects = LockEffects(vault, waits: waits, prompts: prompts, grants: grants, queue: queue)
    portal = PortalObject(vault, signals: signals, gate: gate, clients: clients, queue: queue, loop: loop)
    let deprecations = DeprecationLog()
    let access = AccessWriter(tree, signals: signals, deprecations: deprecations)
    let creation = ItemCreation(
      tree, grants: grants, prompts: prompts, waits: waits, signals: signals, deprecations: deprecations,
      delegate: delegate)
    answers = PromptAnswers(
      tree, prompts: prompts, creation: creation, access: access, grants: grants, announcer: announcer)
    wordSearch = CollectionSearch(tree, locks: locks, clients: clients)
    let search = ItemSearch(tree, locks: locks, announcer: announcer, gate: gate)
    let service = ServiceObject(
      tree, sessions: sessions, grants: grants, locks: locks, search: search, announcer: announcer, prompts: prompts)
    let collections = CollectionCalls(tree, locks: locks, gate: gate, prompts: prompts, signals: signals)
    let locking = LockCalls(tree, effects: lockEffects, announcer: announcer, observer: self)
    let collection = CollectionObject(
      tree, locks: locks, search: search, words: wordSearch, sessions: sessions, creation: creation, signals: signals,
      queue: queue)
    let item = ItemObject(
      tree, locks: locks, grants: grants, sessions: sessions, announcer: announcer, signals: signals,
      deprecations: deprecations, queue: queue)
    let itemAccess = ItemAccessObject(tree, waits: waits, prompts: prompts, writer: access)
    let keychain = KeychainObject(
      search: KeychainSearch(vault, sessions: sessions, locks: locks, grants: grants, gate: gate),
      changes: KeychainChanges(
        tree, sessions: sessions, grants: grants, creation: creation, waits: waits, signals: signals,
        deprecations: deprecations, queue: queue))
    let steps = PromptSteps(tree, locks: locks, access: access, signals: signals)
    let prompt = PromptObject(
      prompts, steps: steps, completion: completion, queue: queue, bus: bus, loop: loop)
    let toldPrompt = ToldPromptObject(prompts, prompts: prompt, sessions: sessions)
    clients.observer = self
    grants.observer = announcer
    try export(
      [
        service.interface(opening: sessionObject, collections: collections, locking: locking),
        ClientObject(grants, clients: clients).interface, keychain.interface,
        PasswordObject(tree, locks: locks, prompts: prompts).interface,
      ], on: bus, below: ObjectPath.root
    ) { $0 == ObjectPath.root }
    try export([sessionObject.interface], on: bus, below: ObjectPath.sessions) { [sessions] in sessions.contains($0) }
    try export([prompt.interface, toldPrompt.interface], on: bus, below: ObjectPath.prompts) { [prompts] in
      prompts[$0] != nil
    }
    slots.append(try prompt.takeBoolean(on: bus) { [prompts] in prompts[$0] != nil })
    try export([portal.interface], on: bus, below: PortalRequest.portal) { $0 == PortalRequest.portal }
    try export([portal.requestInterface], on: bus, below: "/") { [portal] in portal.hasRequest(at: $0) }
    let present = PresentObjects(tree, sessions: sessions, prompts: prompts, portal: portal)
    slots += try present.refuseOthers(on: bus)
    for prefix in [ObjectPath.collections, ObjectPath.aliases] {
      try export([collection.interface, collection.ownInterface], on: bus, below: prefix) { [tree] path in
        guard case .collection(let name) = ObjectPath(path) else { return false }
        return tree.exists(name)
      }
      try export([item.interface, itemAccess.interface], on: bus, below: prefix) { [tree] path in
        // The call itself finds out whether the item exists. A check here would cost every call a second query.
        guard case .item(let name, _) = ObjectPath(path) else { return false }
        return tree.exists(name)
      }
    }
    // sd-bus asks only the nearest object above a path.
    for prefix in [ObjectPath.root, ObjectPath.collections, ObjectPath.aliases] {
      slots.append(try bus.addNodeEnumerator(below: prefix) { path in present.children(of: path) })
    }
  }

  private func export(
    _ interfaces: [ObjectInterface], on bus: Bus, below prefix: String, where exists: @escaping (String) -> Bool
  ) throws(SystemdError) {
    for interface in interfaces { slots.append(try bus.export(interface, below: prefix, where: exists)) }
  }

  /// Drops the pending requests without a reply. Call it when the bus is lost; the object is of no use afterwards.
  public func disconnect() {
    slots = []
    sessionObject.disconnect()
    announcer.disconnect()
    gate.disconnect()
    waits.disconnect()
    signals.disconnect()
    queue.cancel(prompts.removeAll() + portal.removeAll())
    grants.removeAll()
  }

  // MARK: - what happened around the vault

  /// Ends everything that lives only as long as the session. Call it when the vault was sealed.
  public func sessionEnded() {
    for item in tree.endSession() { signals.itemDeleted(item) }
    stateChanged()
  }

  /// Call this at every lock, whether it erases keys or not. Neither grants nor waiting requests outlive a lock.
  public func endGrantsAndRequests() { lockEffects.locked() }

  /// Removes every prompt: there is no vault that an answer could open.
  public func endPrompts() { prompts.endAll() }

  /// Dismisses every asked prompt, because the program ends.
  public func dismissPrompts() { prompts.dismissAll() }

  /// Call this when the vault's verification has ended.
  public func verificationEnded() { gate.ended() }

  /// Tells programs which items a restore brought.
  public func restored(_ changes: Restore.Changes) { announcer.restored(changes) }

  /// Tells clients of items that were deleted, but not by a client.
  public func deleted(_ items: [FoundItem]) {
    for item in items { signals.itemDeleted(ItemPlace(collection: .vault(item.collection), id: item.id)) }
  }

  /// Tells clients of a collection that was deleted, but not by a client.
  public func deleted(collection id: Int64) {
    signals.collectionDeleted(.vault(id))
    signals.collectionsChanged()
  }

  // MARK: - names for persons

  /// The name by which a person may call an item, such as `login/5`. It has only numbers, because a log may contain it.
  public static func numberName(ofItem id: Int64, in vault: Vault) -> String {
    guard let collection = try? vault.reader.collection(ofItem: id) else { return "an item" }
    return "\(CollectionName.ofNumber(collection))/\(id)"
  }
}

extension SecretService: LockObserver {
  /// Tells clients what changed, after the vault got or lost keys.
  public func stateChanged() {
    announcer.stateChanged()
    portal.stateChanged()
  }
}

extension SecretService: ClientObserver {
  func clientVanished(_ client: String) {
    sessions.removeAll(of: client)
    grants.forget(client: client)
    announcer.forget(client: client)
    waits.forget(client: client)
    wordSearch.forget(client: client)
    // All prompts end at once, so that the end of one does not bring up another.
    queue.leave(prompts.removeAll(of: client) + portal.removeAll(of: client))
  }
}
