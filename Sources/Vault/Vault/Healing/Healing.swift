import LatchkeyReasons

/// The healing of a database that was damaged or missing, from a generation.
public struct Healing: Equatable, Sendable {
  /// The kinds of damage.
  public typealias Loss = Reason.Loss

  /// The damage.
  public let loss: Loss
  /// The generation from which the healed database was made; number 0 if ``wasFinished``.
  public let generation: PastGeneration
  /// Whether a former process had made the new database, and only the exchange of the files was left. If so, nobody knows the
  /// outcome for the items.
  public private(set) var wasFinished = false
  /// The number of items that came from the damaged file, because they are newer there.
  public internal(set) var newer = 0
  /// The labels of the items that were taken from the generation, because the damaged file's rows could not be read. A label
  /// that cannot be read now is empty. These items may have been changed or deleted since.
  public internal(set) var older: [String] = []
  /// The numbers of the items that are only in the generation, because they were deleted later, as the damaged file shows. They are
  /// not in the new database.
  public internal(set) var dropped: [Int64] = []
  /// The numbers of the collections that were left out for the same reason.
  public internal(set) var droppedCollections: [Int64] = []
  /// The numbers of the items that were taken from the generation.
  public internal(set) var olderNumbers: [Int64] = []
  /// The numbers of the lost items, as far as a row or an index still names them.
  public internal(set) var lostNumbers: [Int64] = []
  /// The number of lost items.
  public var lost: Int64 { Int64(lostNumbers.count) }
  /// Whether the count is exact. If not, items that were stored after the generation may be missing, and items that were deleted
  /// after it may be back.
  public internal(set) var isCounted = true
  /// The present name of the damaged file; nil if there was none.
  public internal(set) var aside: String?

  init(loss: Loss, generation: PastGeneration) { (self.loss, self.generation) = (loss, generation) }

  /// The report of a healing whose exchange a former process began.
  init(finishing loss: Loss, aside: String?) {
    self.init(loss: loss, generation: PastGeneration(number: 0, time: 0, epoch: 0, size: 0))
    (wasFinished, isCounted, self.aside) = (true, false, aside)
  }

  /// Whether items may be missing, or may be in a former state.
  public var mayMissItems: Bool { !isCounted || !lostNumbers.isEmpty || !olderNumbers.isEmpty }

  /// One line about the healing, and about the items that may be missing.
  public var reason: Reason {
    var more: [Reason] = []
    if newer > 0 { more.append(.newerItems(newer)) }
    if !olderNumbers.isEmpty { more.append(.olderItems(Self.list(olderNumbers))) }
    if !dropped.isEmpty { more.append(.deletedItems(Self.list(dropped))) }
    if !droppedCollections.isEmpty { more.append(.deletedCollections(Self.list(droppedCollections))) }
    if !lostNumbers.isEmpty { more.append(.lostItems(Self.list(lostNumbers))) }
    if !isCounted { more.append(.vault(.mayMissItems)) }
    if let aside { more.append(.damagedFile(aside)) }
    return more.reduce(.healed(loss, from: wasFinished ? 0 : generation.number)) { .both($0, $1) }
  }

  /// The healing in English, for the log.
  public var explanation: String { reason.text }

  /// The count of the items and their numbers, for a person who wants to find them in the generation.
  private static func list(_ numbers: [Int64]) -> Reason {
    let shown = numbers.prefix(20).map { "\($0)" }.joined(separator: ", ")
    return .numbers(numbers.count, numbers.count > 20 ? "\(shown), …" : shown)
  }
}
