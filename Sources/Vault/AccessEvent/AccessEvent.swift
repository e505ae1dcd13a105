// AccessEvent: the form of the entries of the access log.
//
// The vault logs every request for an item that has requirements, whether it succeeded or not.
// ``AccessEvent`` is such an event: the program's request, its outcome, the numbers of item and
// collection, the item's label at that time, and the program's name. ``AccessLogEntry`` is an event
// that was read from the log, with its number, its time, and the number of missing entries before it.
//
//     var out = ByteWriter(capacity: 128)
//     AccessEvent(.open, .used, item: 7, caller: "firefox").encode(into: &out)
//
// The vault seals the encoded bytes into a row. The control socket carries them to `latchkey log`. Both
// use this module, which is why it is not a part of Vault: the command line needs an entry's form, and
// no database.
//
// The module promises that an event never has a secret or an attribute, that its texts have at most 255
// bytes and are cut between characters, and that decoding any other bytes gives nil. The codes of
// outcomes never change, because logs of earlier versions have them.
//
// It does not seal, number or store entries. `AccessLog` in the module Vault does this work, and bounds the number of entries. It
// does not decide what is logged: `AccessLogService` in the daemon does. The program's name is a hint and no proof, because a
// program of the same user can run as any other.

import LatchkeyBytes
import LatchkeyItemProtection

/// One line of the access log: the outcome of a request for an item with requirements. Never a secret, never an attribute.
public struct AccessEvent: Hashable, Sendable {
  /// The program's request.
  public enum Action: UInt8, CaseIterable, Sendable {
    /// To read or change an existing item.
    case open = 1
    /// To store an item with a passphrase that a person chooses. The item is new, or replaces another one.
    case store = 2
    /// The log itself.
    case log = 3
    /// The item's requirements, its class, or its passphrase.
    case change = 4
  }

  /// The outcome of a request.
  public enum Outcome: Hashable, Sendable {
    /// The prompt ended. With ``Action/store``, ``PromptEnd/granted`` means that a passphrase was chosen.
    case ended(PromptEnd)
    /// The program used the answer.
    case used
    /// Some entries were lost before the vault could write them.
    case lost
    /// A command removed entries.
    case cleared

    /// The outcome's number in an entry.
    public var code: UInt8 {
      switch self {
      case .ended(let end): end.rawValue
      case .used: 2
      case .lost: 11
      case .cleared: 12
      }
    }

    /// All outcomes.
    public static let all = [Outcome.used, .lost, .cleared] + PromptEnd.allCases.map { .ended($0) }

    /// nil for a number that no outcome has.
    public init?(code: UInt8) {
      guard let found = Outcome.all.first(where: { $0.code == code }) else { return nil }
      self = found
    }
  }

  /// The longest text, in bytes; longer texts are cut.
  public static let textLimit = 255

  /// The request.
  public var action: Action
  /// The outcome.
  public var outcome: Outcome
  /// The number of entries for ``Outcome/lost`` and ``Outcome/cleared``; otherwise 0.
  public var count: UInt32
  /// The number of the collection; 0 if there is none.
  public var collection: UInt64
  /// The number of the item; 0 for one that does not exist yet.
  public var item: UInt64
  /// The item's label at that time. Empty if more than the login protects the label.
  public var label: String
  /// The program, as far as the system can tell. This is a hint, not a proof.
  public var caller: String

  /// Puts the values together.
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
    out.number(outcome.code)
    out.number(count)
    out.number(collection)
    out.number(item)
    for text in [label, caller] { out.short(AccessEvent.cut(text)) }
  }

  /// Reads the bytes of ``encode(into:)``; nil for any other bytes.
  public init?(decoding input: inout ByteReader) {
    guard let action = (try? input.number()).flatMap(Action.init(rawValue:)),
      let outcome = (try? input.number()).flatMap(Outcome.init(code:)), let count = try? input.number(UInt32.self),
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
