import LatchkeyKeybag
import LatchkeySodium

/// Deleted collections that must come back from a generation.
///
/// The keys of these collections cannot be derived from memory (see ``KeyChain``). The keys come with the next tier keys, and the
/// next lock erases them.
struct DeletedCollections {
  /// A collection's own tier keys.
  struct Keys {
    let unlocked: HeldKey
    let session: HeldKey
    /// The key epoch of the keys.
    let epoch: UInt32
  }

  /// The inputs from which a collection's own tier keys are derived.
  private struct Place: Hashable {
    let uuid: [UInt8]
    let ordinal: UInt64

    init(_ row: CollectionRow) { (uuid, ordinal) = (row.uuid, row.ordinal) }
  }

  private var wanted: Set<Place> = []
  private var open: [Place: Keys] = [:]

  /// Whether keys of any collection are wanted.
  var isWaiting: Bool { !wanted.isEmpty }

  /// The keys of a collection; nil if the collection's keys of this epoch are not in memory.
  func keys(of row: CollectionRow, epoch: UInt32) -> Keys? { open[Place(row)].flatMap { $0.epoch == epoch ? $0 : nil } }

  /// Notes that the next tier keys must give the keys of this collection.
  mutating func want(_ row: CollectionRow) {
    guard wanted.count < VaultCollections.limit else { return }
    wanted.insert(Place(row))
  }

  /// Derives the keys that are wanted, and no others.
  ///
  /// - Parameters: the beginnings of both chains, and their key epoch.
  mutating func open(unlocked: KeyChain, session: KeyChain, epoch: UInt32) throws(SodiumError) {
    var (unlocked, session) = (unlocked, session)
    open = [:]
    for place in wanted.sorted(by: { $0.ordinal < $1.ordinal }) {
      try session.skip(to: place.ordinal)
      try unlocked.skip(to: place.ordinal)
      // Several collections may have had the same place at different times, so the chains stay where they are.
      var (ownUnlocked, ownSession) = (unlocked, session)
      open[place] = Keys(
        unlocked: try ownUnlocked.next(uuid: place.uuid), session: try ownSession.next(uuid: place.uuid), epoch: epoch)
    }
    wanted = []
  }

  /// Erases the keys of a collection that has come back: its own row has them from now on.
  ///
  /// - Parameter row: the collection's row in the generation.
  mutating func erase(_ row: CollectionRow) { open[Place(row)] = nil }

  /// Erases the keys, and forgets the collections that are wanted: a password after a lock is given for something else.
  mutating func forget() { (wanted, open) = ([], [:]) }
}
