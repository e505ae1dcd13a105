/// The healing of a database that was damaged or missing, from a generation.
public struct Healing: Equatable, Sendable {
  /// The kinds of damage.
  public enum Loss: Sendable {
    /// The file was missing.
    case missing
    /// The file was damaged.
    case damaged
    /// The file was another vault's.
    case foreign
  }

  /// The damage.
  public let loss: Loss
  /// The generation from which it was made; number 0 if ``wasFinished``.
  public let generation: PastGeneration
  /// Whether a former process had made the new database, and only the exchange of the files was left. Then nobody knows the
  /// outcome for the items.
  public private(set) var wasFinished = false
  /// How many items came from the damaged file, as they are newer there.
  public internal(set) var newer = 0
  /// The labels of the items that were taken from the generation, because the damaged file's rows could not be read. A label
  /// that cannot be read now is empty. These items may have been changed or deleted since.
  public internal(set) var older: [String] = []
  /// The numbers of the items that only the generation has and that the damaged file shows as deleted since. They are not in
  /// the new database.
  public internal(set) var dropped: [Int64] = []
  /// The numbers of the collections for which the same holds.
  public internal(set) var droppedCollections: [Int64] = []
  /// The numbers of the items that were taken from the generation.
  public internal(set) var olderNumbers: [Int64] = []
  /// The numbers of the lost items, as far as anything names them.
  public internal(set) var lostNumbers: [Int64] = []
  /// How many items are lost.
  public var lost: Int64 { Int64(lostNumbers.count) }
  /// Whether the count is exact. If not, items that were stored since the generation may be missing, and deleted ones may be
  /// back.
  public internal(set) var isCounted = true
  /// The present name of the damaged file; nil if there was none.
  public internal(set) var aside: String?

  init(loss: Loss, generation: PastGeneration) { (self.loss, self.generation) = (loss, generation) }

  /// The end of an exchange that a former process began.
  init(finishing loss: Loss, aside: String?) {
    self.init(loss: loss, generation: PastGeneration(number: 0, time: 0, epoch: 0, size: 0))
    (wasFinished, isCounted, self.aside) = (true, false, aside)
  }

  /// Whether items may be missing, or be as they were before.
  public var mayMissItems: Bool { !isCounted || !lostNumbers.isEmpty || !olderNumbers.isEmpty }

  /// For a person, in one line: what happened, and what may be missing.
  public var explanation: String {
    let what =
      switch loss {
      case .missing: "was missing"
      case .damaged: "was damaged"
      case .foreign: "was another vault's"
      }
    let source = wasFinished ? "a generation" : "generation \(generation.number)"
    var text = "vault.db \(what), and was made again from \(source) and what could be read of the file"
    if newer > 0 { text += "; newer items that could be read: \(newer)" }
    if !olderNumbers.isEmpty {
      text += "; items from the generation, perhaps older or deleted since: \(Self.list(olderNumbers))"
    }
    if !dropped.isEmpty {
      text += "; items that were deleted since the generation, and stay deleted: \(Self.list(dropped))"
    }
    if !droppedCollections.isEmpty {
      let list = Self.list(droppedCollections)
      text += "; collections that were deleted since the generation, and stay deleted: \(list)"
    }
    if !lostNumbers.isEmpty { text += "; items that are gone: \(Self.list(lostNumbers))" }
    if !isCounted { text += "; items stored since then may be missing, and deleted ones may be back" }
    if let aside { text += "; the damaged file is \(aside)" }
    return text
  }

  /// How many and which items; the generation still has them.
  private static func list(_ numbers: [Int64]) -> String {
    let shown = numbers.prefix(20).map { "\($0)" }.joined(separator: ", ")
    return "\(numbers.count) (\(numbers.count == 1 ? "number" : "numbers") \(shown)\(numbers.count > 20 ? ", …" : ""))"
  }
}
