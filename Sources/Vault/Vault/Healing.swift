import LatchkeyReasons

/// The healing of a database that was damaged or missing, from a generation.
public struct Healing: Equatable, Sendable {
  /// The kinds of damage.
  public typealias Loss = Reason.Loss

  /// The damage.
  public let loss: Loss
  /// The generation that it was made from; number 0 where ``wasFinished``.
  public let generation: PastGeneration
  /// Whether a process that ended had made it, and only the exchange of the files was left: nobody knows what became of the items.
  public private(set) var wasFinished = false
  /// How many items came from the damaged file, as they are newer there.
  public internal(set) var newer = 0
  /// The labels of the items that are as the generation has them, as the damaged file's could not be read; empty for those whose
  /// label cannot be read now. They may have been changed or deleted since.
  public internal(set) var older: [String] = []
  /// The numbers of the items that only the generation has, and that the damaged file shows as deleted since: they are not in the
  /// new database.
  public internal(set) var dropped: [Int64] = []
  /// The numbers of the collections of which the same holds.
  public internal(set) var droppedCollections: [Int64] = []
  /// Their numbers.
  public internal(set) var olderNumbers: [Int64] = []
  /// The numbers of the items that are gone, as far as anything names them.
  public internal(set) var lostNumbers: [Int64] = []
  /// How many items are gone.
  public var lost: Int64 { Int64(lostNumbers.count) }
  /// Whether that is known. Where not, items that were stored since the generation may be missing, and deleted ones may be back.
  public internal(set) var isCounted = true
  /// Where the damaged file is now; nil where there was none.
  public internal(set) var aside: String?

  init(loss: Loss, generation: PastGeneration) { (self.loss, self.generation) = (loss, generation) }

  /// The end of what a process began that ended.
  init(finishing loss: Loss, aside: String?) {
    self.init(loss: loss, generation: PastGeneration(number: 0, time: 0, epoch: 0, size: 0))
    (wasFinished, isCounted, self.aside) = (true, false, aside)
  }

  /// Whether items may be missing, or be as they were before.
  public var mayMissItems: Bool { !isCounted || !lostNumbers.isEmpty || !olderNumbers.isEmpty }

  /// In one line: what happened, and what may be missing.
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

  /// The same in English, for the log.
  public var explanation: String { reason.text }

  /// How many, and which: the generation still has them.
  private static func list(_ numbers: [Int64]) -> Reason {
    let shown = numbers.prefix(20).map { "\($0)" }.joined(separator: ", ")
    return .numbers(numbers.count, numbers.count > 20 ? "\(shown), …" : shown)
  }
}
