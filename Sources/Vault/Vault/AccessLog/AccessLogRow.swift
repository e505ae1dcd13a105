import LatchkeyAccessEvent
import LatchkeyBytes
import LatchkeyKeybag
import LatchkeySodium

/// A row of table `access_log`. The row's number is its place in the log. No other row ever has that number.
struct AccessLogRow: CheckedRow {
  let id: Int64
  let created: UInt64
  /// The entry, sealed by ``AccessLogSeal``.
  var entry: [UInt8]

  var content: [UInt8] {
    var out = ByteWriter(capacity: 20 + entry.count)
    out.number(UInt64(bitPattern: id))
    out.number(created)
    out.long(entry)
    return out.bytes
  }
}

/// Seals and opens the entries of the access log. Each is bound to the vault, its place and its time, so nobody can alter or move
/// an entry unnoticed.
struct AccessLogSeal {
  let vault: [UInt8]
  let key: HeldKey

  /// An entry is padded to multiples of this many bytes.
  private static let padding = 64
  /// The number of bytes before an event. Earlier programs wrote a hash of the preceding entry there. It is not read.
  static let reservedSize = 16

  private func associated(_ id: Int64, _ created: UInt64) -> [UInt8] {
    var out = ByteWriter(capacity: 64)
    out.text("latchkey/1/access-log")
    out.put(vault)
    out.number(UInt64(bitPattern: id))
    out.number(created)
    return out.bytes
  }

  private static func plain(_ event: AccessEvent) -> [UInt8] {
    var out = ByteWriter(capacity: 128)
    out.put([UInt8](repeating: 0, count: reservedSize))
    event.encode(into: &out)
    let rest = out.bytes.count % padding
    if rest > 0 { out.put([UInt8](repeating: 0, count: padding - rest)) }
    return out.bytes
  }

  func seal(_ event: AccessEvent, id: Int64, created: UInt64) -> AccessLogRow {
    let sealed = AEAD.seal(
      AccessLogSeal.plain(event).span.bytes, key: key.key, associated: associated(id, created))
    return AccessLogRow(id: id, created: created, entry: sealed)
  }

  /// Opens a row; nil if this key does not open it, or its content is not an event.
  func open(_ row: AccessLogRow) -> AccessEvent? {
    guard
      let plain = try? AEAD.open(row.entry.span.bytes, key: key.key, associated: associated(row.id, row.created))
    else { return nil }
    return AccessLogSeal.read(plain.bytes.octets)
  }

  /// Reads the bytes of an entry; nil for any other bytes.
  static func read(_ plain: [UInt8]) -> AccessEvent? {
    var input = ByteReader(plain)
    guard plain.count % padding == 0, (try? input.take(reservedSize)) != nil,
      let event = AccessEvent(decoding: &input), input.remaining < padding,
      let rest = try? input.take(input.remaining), rest.allSatisfy({ $0 == 0 })
    else { return nil }
    return event
  }
}
