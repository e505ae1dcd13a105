import CLatchkeySystemd
import Glibc

/// Appends to a message that is being built. Exists only inside the closure that builds it.
public struct MessageWriter: ~Copyable {
  private let pointer: OpaquePointer
  /// How much was appended, rather too high than too low.
  private var size = 0

  /// The most that is appended to one message, in bytes. D-Bus allows an array of this size at most, and a bus closes the
  /// connection of whoever sends a larger one.
  private static let sizeLimit = 64 << 20
  /// What lengths and padding take at most, beside each value.
  private static let overhead = 16

  init(_ pointer: OpaquePointer) { self.pointer = pointer }

  /// Whom the message is for: the unique name of a call's sender in its answer; nil for what goes to all.
  public var recipient: String? { sd_bus_message_get_destination(pointer).map { String(cString: $0) } }

  /// Throws `LimitsExceeded` where the message would become larger than a message may be.
  private mutating func count(_ bytes: Int) throws(BusError) {
    guard bytes >= 0, bytes <= Self.sizeLimit - Self.overhead - size else {
      throw .limitsExceeded("that is more than a message may carry")
    }
    size += bytes + Self.overhead
  }

  // MARK: Basic types

  /// Throws when the text holds a NUL, which D-Bus cannot carry.
  public mutating func appendString(_ value: String) throws(BusError) { try appendText("s", value, "a string") }

  /// Throws when `value` is no valid object path.
  public mutating func appendObjectPath(_ value: String) throws(BusError) {
    try appendText("o", value, "an object path")
  }

  /// A `b`.
  public mutating func appendBool(_ value: Bool) throws(BusError) { try appendBasic("b", Int32(value ? 1 : 0)) }
  /// A `y`.
  public mutating func appendByte(_ value: UInt8) throws(BusError) { try appendBasic("y", value) }
  /// An `i`.
  public mutating func appendInt32(_ value: Int32) throws(BusError) { try appendBasic("i", value) }
  /// A `u`.
  public mutating func appendUInt32(_ value: UInt32) throws(BusError) { try appendBasic("u", value) }
  /// An `x`.
  public mutating func appendInt64(_ value: Int64) throws(BusError) { try appendBasic("x", value) }
  /// A `t`.
  public mutating func appendUInt64(_ value: UInt64) throws(BusError) { try appendBasic("t", value) }
  /// Appends a duplicate of the descriptor, which stays the caller's.
  public mutating func appendUnixFD(_ value: Int32) throws(BusError) { try appendBasic("h", value) }

  // MARK: Bytes

  /// An `ay` with a copy of the bytes.
  public mutating func appendBytes(_ bytes: UnsafeRawBufferPointer) throws(BusError) {
    try count(bytes.count)
    try BusError.check(
      sd_bus_message_append_array(pointer, Message.code("y"), bytes.baseAddress, bytes.count), writing: "bytes")
  }

  /// An `ay` with a copy of bytes that are no secret.
  public mutating func appendBytes(_ bytes: [UInt8]) throws(BusError) {
    try count(bytes.count)
    try BusError.check(
      sd_bus_message_append_array(pointer, Message.code("y"), bytes, bytes.count), writing: "bytes")
  }

  /// An `ay` of `count` bytes, which `fill` writes straight into the message. The space is not zeroed before; if
  /// `fill` throws, the message is not sent.
  public mutating func appendBytes(
    count: Int, fill: (UnsafeMutableRawBufferPointer) throws(BusError) -> Void
  ) throws(BusError) {
    var start: UnsafeMutableRawPointer?
    try self.count(count)
    try BusError.check(
      sd_bus_message_append_array_space(pointer, Message.code("y"), count, &start), writing: "bytes")
    try fill(UnsafeMutableRawBufferPointer(start: count == 0 ? nil : start, count: count))
  }

  // MARK: Containers

  /// An array whose elements `body` appends. `contents` is the signature of one element.
  public mutating func appendArray(
    _ contents: String, _ body: (inout MessageWriter) throws(BusError) -> Void
  ) throws(BusError) {
    try container("a", contents, body)
  }

  /// An array with one element for each of `values`, appended by `element`.
  public mutating func appendArray<Values: Sequence>(
    _ contents: String, of values: Values,
    _ element: (inout MessageWriter, Values.Element) throws(BusError) -> Void
  ) throws(BusError) {
    try open("a", contents)
    for value in values { try element(&self, value) }
    try close()
  }

  /// A dictionary; `body` calls `appendEntry` on it. `contents` is the signature of key and value, such as `sv`.
  public mutating func appendDictionary(
    _ contents: String, _ body: (inout MessageWriter) throws(BusError) -> Void
  ) throws(BusError) {
    try container("a", "{\(contents)}", body)
  }

  /// One entry of a dictionary: `body` appends key and value.
  public mutating func appendEntry(
    _ contents: String, _ body: (inout MessageWriter) throws(BusError) -> Void
  ) throws(BusError) {
    try container("e", contents, body)
  }

  /// A structure. `contents` is the signature of its fields, without parentheses.
  public mutating func appendStruct(
    _ contents: String, _ body: (inout MessageWriter) throws(BusError) -> Void
  ) throws(BusError) {
    try container("r", contents, body)
  }

  /// A variant that holds one complete type, `contents`.
  public mutating func appendVariant(
    _ contents: String, _ body: (inout MessageWriter) throws(BusError) -> Void
  ) throws(BusError) {
    try container("v", contents, body)
  }

  /// `a{ss}`, in the order of the keys.
  public mutating func appendStringDictionary(_ values: [String: String]) throws(BusError) {
    try open("a", "{ss}")
    for (key, value) in values.sorted(by: { $0.key < $1.key }) {
      try open("e", "ss")
      try appendString(key)
      try appendString(value)
      try close()
    }
    try close()
  }

  /// `ao`.
  public mutating func appendObjectPaths(_ paths: some Sequence<String>) throws(BusError) {
    try open("a", "o")
    for path in paths { try appendObjectPath(path) }
    try close()
  }

  /// `as`.
  public mutating func appendStrings(_ strings: some Sequence<String>) throws(BusError) {
    try open("a", "s")
    for string in strings { try appendString(string) }
    try close()
  }

  /// Opens a container, for code where closures are in the way. Each `open` needs its `close`.
  public mutating func open(_ type: Unicode.Scalar, _ contents: String) throws(BusError) {
    try count(0)
    try BusError.check(
      sd_bus_message_open_container(pointer, Message.code(type), contents), writing: "a container of \(contents)")
  }

  /// Closes the container opened last.
  public mutating func close() throws(BusError) {
    try BusError.check(sd_bus_message_close_container(pointer), writing: "the end of a container")
  }

  private mutating func container(
    _ type: Unicode.Scalar, _ contents: String, _ body: (inout MessageWriter) throws(BusError) -> Void
  ) throws(BusError) {
    try open(type, contents)
    try body(&self)
    try close()
  }

  private mutating func appendText(
    _ type: Unicode.Scalar, _ value: String, _ what: String
  ) throws(BusError) {
    try count(value.utf8.count)
    var hasNUL = false
    let result = value.withCString { text in
      hasNUL = strlen(text) != value.utf8.count
      return hasNUL ? 0 : sd_bus_message_append_basic(pointer, Message.code(type), text)
    }
    guard !hasNUL else { throw .invalidArguments("a text holds a NUL") }
    try BusError.check(result, writing: what)
  }

  private mutating func appendBasic<Value: BitwiseCopyable>(
    _ type: Unicode.Scalar, _ value: Value
  ) throws(BusError) {
    try count(0)
    let result = withUnsafePointer(to: value) { sd_bus_message_append_basic(pointer, Message.code(type), $0) }
    try BusError.check(result, writing: "a value of type \(type)")
  }
}
