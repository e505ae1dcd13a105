import LatchkeyKeybag
import LatchkeyReasons

/// The result of a backup or a restore, or of its rehearsal: counts, and a line for each thing that a person has to know.
public struct ArchiveReport: Equatable, Sendable {
  /// The outcome for one thing.
  public enum Outcome: UInt8, Sendable {
    /// It comes into the vault.
    case added = 1
    /// It takes the place of an item with the same attributes.
    case replaced = 2
    /// An item with the same attributes and another secret is there, and stays.
    case conflict = 3
    /// It stays behind; the reason says why.
    case left = 4
    /// Its class is in no backup.
    case excluded = 5
    /// Something beside the items.
    case notice = 6
  }

  /// One line. Its texts are cut to 255 bytes each: labels can be long, and lines many.
  public struct Line: Equatable, Sendable {
    /// The outcome.
    public let outcome: Outcome
    /// The label of its collection; may be empty.
    public let collection: String
    /// Its label; empty where it cannot be read, and for a collection.
    public let label: String
    /// Its class; nil for a collection.
    public let accessibility: AccessibilityClass?
    /// Why; nil where that goes without saying.
    public let reason: Reason?

    /// Puts them together.
    public init(
      _ outcome: Outcome, collection: String, label: String = "", accessibility: AccessibilityClass? = nil,
      reason: Reason? = nil
    ) {
      (self.outcome, self.accessibility, self.reason) = (outcome, accessibility, reason)
      (self.collection, self.label) = (Line.cut(collection), Line.cut(label))
    }

    private static let textLimit = 255

    /// As much of a text as a line has, cut between characters (Unicode scalars).
    public static func cut(_ text: String) -> String {
      let bytes = text.utf8
      guard bytes.count > textLimit else { return text }
      var end = bytes.index(bytes.startIndex, offsetBy: textLimit)
      while end > bytes.startIndex, bytes[end] & 0xC0 == 0x80 { bytes.formIndex(before: &end) }
      return String(decoding: bytes[..<end], as: UTF8.self)
    }
  }

  /// Items that the backup has.
  public var items: UInt64 = 0
  /// Items by outcome.
  public var added: UInt64 = 0
  /// Items that were there already, the same.
  public var same: UInt64 = 0
  /// Items that took another's place.
  public var replaced: UInt64 = 0
  /// Items that were not restored, as another one stays.
  public var conflicts: UInt64 = 0
  /// Items that stay behind.
  public var left: UInt64 = 0
  /// Items of the class that no backup has.
  public var excluded: UInt64 = 0
  /// The lines, in the order of the items.
  public var lines: [Line] = []

  /// An empty report.
  public init() {}

  /// Adds a line, and counts the item that it is about.
  public mutating func add(_ line: Line) {
    lines.append(line)
    switch line.outcome {
    case .added: added += 1
    case .replaced: replaced += 1
    case .conflict: conflicts += 1
    case .left: left += 1
    case .excluded: excluded += 1
    case .notice: break
    }
  }

  /// Turns what was decided into a conflict: it does not hold any more.
  public mutating func turnIntoConflict(_ index: Int, reason: Reason) {
    let line = lines[index]
    switch line.outcome {
    case .added: added -= 1
    case .replaced: replaced -= 1
    case .conflict, .left, .excluded, .notice: return
    }
    conflicts += 1
    lines[index] = Line(
      .conflict, collection: line.collection, label: line.label, accessibility: line.accessibility, reason: reason)
  }
}
