import LatchkeyKeybag
import LatchkeyReasons

/// The result of a backup or a restore, or of its rehearsal: counts, and a line for each fact that a person should know.
public struct ArchiveReport: Equatable, Sendable {
  /// The outcome for one thing.
  public enum Outcome: UInt8, Sendable {
    /// The item comes into the vault.
    case added = 1
    /// The item replaces one with the same attributes.
    case replaced = 2
    /// The vault has an item with the same attributes and another secret, which stays.
    case conflict = 3
    /// The item is left out, for this reason.
    case left = 4
    /// The item's class is in no backup.
    case excluded = 5
    /// A notice that is not about an item.
    case notice = 6
  }

  /// One line. The line's texts are cut to 255 bytes each: labels can be long, and lines many.
  public struct Line: Equatable, Sendable {
    /// The outcome.
    public let outcome: Outcome
    /// The label of the item's collection; may be empty.
    public let collection: String
    /// The item's label; empty if the label cannot be read, and for a collection.
    public let label: String
    /// The item's class; nil for a collection.
    public let accessibility: AccessibilityClass?
    /// The reason; nil if the reason is obvious.
    public let reason: Reason?

    /// Puts the values together.
    public init(
      _ outcome: Outcome, collection: String, label: String = "", accessibility: AccessibilityClass? = nil,
      reason: Reason? = nil
    ) {
      (self.outcome, self.accessibility, self.reason) = (outcome, accessibility, reason)
      (self.collection, self.label) = (Line.cut(collection), Line.cut(label))
    }

    private static let textLimit = 255

    /// The part of a text that fits a line, cut between characters (Unicode scalars).
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
  /// Items that the vault had already, unchanged.
  public var same: UInt64 = 0
  /// Items that replaced others.
  public var replaced: UInt64 = 0
  /// Items that were not restored, because another item stays.
  public var conflicts: UInt64 = 0
  /// Items that were left out.
  public var left: UInt64 = 0
  /// Items of the class that no backup has.
  public var excluded: UInt64 = 0
  /// The lines, in the order of the items.
  public var lines: [Line] = []

  /// An empty report.
  public init() {}

  /// Adds a line, and counts the item that the line is about.
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

  /// Turns a decision that no longer holds into a conflict.
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
