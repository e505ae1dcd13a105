import CLatchkeyHelper
import CLatchkeyPAMModule

/// The message to the helper. It is built in the pages that the helper reads, because it contains the token.
///
/// All integers are little-endian:
///
///     u32 length of what follows, at most `limit`
///     u8  version
///     u8  operation
///     u8  flags
///     u64 when the secrets were given, or the session began, as `Moment.now`
///     u16 length + bytes, for each HelperField and then for the token
///     for changePassword and rewrap one more: the former password, or a recovery code
struct Request: ~Copyable {
  /// The largest request without its length field, in bytes.
  static let limit = Int(HELPER_REQUEST_LIMIT)
  private static let headerSize = 4
  private static let givenOffset = headerSize + 3

  private var pages: SharedPages
  /// The number of bytes so far, including the length field.
  private(set) var count = Request.headerSize
  private var isTooLong = false

  /// nil with errno if there is no memory.
  init?(_ operation: HelperOperation, flags: HelperFlags, given: UInt64) {
    guard let pages = SharedPages() else { return nil }
    self.pages = pages
    append(byte: UInt8(truncatingIfNeeded: HELPER_VERSION))
    append(byte: operation.rawValue)
    append(byte: flags.rawValue)
    count = Request.headerSize &+ Int(HELPER_HEAD_SIZE)
    self.given(at: given)
  }

  /// Notes the moment at which the person gave a secret, if the module itself asked for it.
  func given(at moment: UInt64) {
    pages.base.storeBytes(of: moment.littleEndian, toByteOffset: Request.givenOffset, as: UInt64.self)
  }

  /// The descriptor of the shared memory, for the helper.
  var descriptor: Int32 { pages.descriptor }

  /// Leaves erasing the request to the helper. A slow helper may read the request only after this process has gone on.
  mutating func leaveToHelper() { pages.isErased = false }

  mutating func append(field: Text) {
    // The sizes are compared by subtraction from the limit, because a sum might overflow.
    guard !isTooLong, field.count <= Request.limit, 2 <= room, field.count <= room &- 2 else {
      isTooLong = true
      return
    }
    append(byte: UInt8(truncatingIfNeeded: field.count))
    append(byte: UInt8(truncatingIfNeeded: field.count >> 8))
    guard let start = field.start else { return }
    memcpy(pages.base + count, start, field.count)
    count = count &+ field.count
  }

  /// Writes the length; false if the fields did not fit. Then the request must not be sent.
  mutating func finish() -> Bool {
    guard !isTooLong else { return false }
    pages.base.storeBytes(
      of: UInt32(truncatingIfNeeded: count &- Request.headerSize).littleEndian, as: UInt32.self)
    return true
  }

  private var room: Int { Request.headerSize &+ Request.limit &- count }

  private mutating func append(byte: UInt8) {
    guard room > 0 else {
      isTooLong = true
      return
    }
    pages.base.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count = count &+ 1
  }
}
