import LatchkeyBytes

/// One line of the access log: what became of a question about an item that asks for something. Never a secret, never an
/// attribute.
public struct AccessEvent: Hashable, Sendable {
  /// What a program wanted.
  public enum Action: UInt8, CaseIterable, Sendable {
    /// An item that is there: to read it, or to change it.
    case open = 1
    /// A new item, or one in the place of another, with a passphrase that a person chooses.
    case store = 2
    /// The log itself.
    case log = 3
    /// What the item asks for, its class, or its passphrase.
    case change = 4
  }

  /// What came of it.
  public enum Outcome: UInt8, CaseIterable, Sendable {
    /// A person gave what was asked for; with ``Action/store``, chose the passphrase.
    case granted = 1
    /// The program made use of that.
    case used = 2
    /// What was given was wrong, as often as one may try.
    case refused = 3
    /// The person wanted none of it.
    case dismissed = 4
    /// Nobody could be asked.
    case unavailable = 5
    /// The vault was locked meanwhile.
    case locked = 6
    /// It was given, but the item was deleted or changed meanwhile.
    case outdated = 7
    /// The program did not want it any more, or ended.
    case withdrawn = 8
    /// Nobody answered in time.
    case expired = 9
    /// What showed the question ended without a word.
    case broken = 10
    /// So many entries were lost before they could be written.
    case lost = 11
    /// So many entries were removed by command.
    case cleared = 12
    /// Other fingers were enrolled than the item asks for, or nobody told which ones were.
    case fingers = 13
  }

  /// The longest text, in bytes; what is longer is cut.
  public static let textLimit = 255

  /// What was wanted.
  public var action: Action
  /// What came of it.
  public var outcome: Outcome
  /// How many entries this stands for, with ``Outcome/lost`` and ``Outcome/cleared``; else 0.
  public var count: UInt32
  /// The number of the collection; 0 for none.
  public var collection: UInt64
  /// The number of the item; 0 for one that is not there yet.
  public var item: UInt64
  /// The item's label at that time. Empty where more than the login protects that.
  public var label: String
  /// The program, as far as the system can tell. A hint, no proof.
  public var caller: String

  /// Puts them together.
  public init(
    _ action: Action, _ outcome: Outcome, count: UInt32 = 0, collection: UInt64 = 0, item: UInt64 = 0,
    label: String = "", caller: String = ""
  ) {
    self.action = action
    self.outcome = outcome
    self.count = count
    self.collection = collection
    self.item = item
    self.label = label
    self.caller = caller
  }

  /// Adds action, outcome, count, collection, item, label, caller.
  public func encode(into out: inout ByteWriter) {
    out.number(action.rawValue)
    out.number(outcome.rawValue)
    out.number(count)
    out.number(collection)
    out.number(item)
    for text in [label, caller] { out.short(AccessEvent.cut(text)) }
  }

  /// Reads the same; nil for anything else.
  public init?(decoding input: inout ByteReader) {
    guard let action = (try? input.number()).flatMap(Action.init(rawValue:)),
      let outcome = (try? input.number()).flatMap(Outcome.init(rawValue:)), let count = try? input.number(UInt32.self),
      let collection = try? input.number(UInt64.self), let item = try? input.number(UInt64.self),
      let label = try? input.short(), let caller = try? input.short(), label.count <= AccessEvent.textLimit,
      caller.count <= AccessEvent.textLimit
    else { return nil }
    self.init(
      action, outcome, count: count, collection: collection, item: item, label: String(decoding: label, as: UTF8.self),
      caller: String(decoding: caller, as: UTF8.self))
  }

  /// The text's bytes, cut between characters (Unicode scalars).
  private static func cut(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    guard bytes.count > textLimit else { return bytes }
    var end = textLimit
    while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
    return Array(bytes[..<end])
  }
}
