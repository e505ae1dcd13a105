import CLatchkeySystemd
import Glibc

/// Appends to a message that is being built. The writer exists only inside the closure that builds the message.
///
/// The writer remembers its first error, as sd-bus does for a message that ran out of memory. From then on it appends nothing
/// and calls no closure, and the builder of the message throws that error instead of sending. A loop that does more than append
/// checks ``failure`` in each turn.
public struct MessageWriter: ~Copyable {
  private let pointer: OpaquePointer
  /// An estimate of the appended bytes, which is never too low.
  private var size = 0
  /// The first error; nil if everything was appended.
  public private(set) var failure: BusError?

  /// The most that is appended to one message, in bytes. D-Bus allows an array of this size at most, and a bus closes the
  /// connection of a client that sends a larger one.
  private static let sizeLimit = 64 << 20
  /// The most bytes that lengths and padding add to each value.
  private static let overhead = 16

  private init(_ pointer: OpaquePointer) { self.pointer = pointer }

  /// Has `build` write a message. Throws the first error of the writer or of `build`. After an error, do not send the message.
  static func write(
    _ message: OpaquePointer, _ build: (inout MessageWriter) throws(BusError) -> Void
  ) throws(BusError) {
    var writer = MessageWriter(message)
    do throws(BusError) { try build(&writer) } catch { throw writer.failure ?? error }
    if let failure = writer.failure { throw failure }
  }

  /// The receiver: for an answer, the unique name of the call's sender; nil for a message to all.
  public var recipient: String? { sd_bus_message_get_destination(pointer).map { String(cString: $0) } }

  /// Counts the bytes that follow. Returns false after an error, and if the message would become too large.
  private mutating func count(_ bytes: Int) -> Bool {
    guard failure == nil else { return false }
    guard bytes >= 0, bytes <= Self.sizeLimit - Self.overhead - size else {
      failure = .limitsExceeded("that is more than a message may carry")
      return false
    }
    size += bytes + Self.overhead
    return true
  }

  /// Remembers sd-bus's error.
  private mutating func check(_ result: Int32, writing what: @autoclosure () -> String) {
    do throws(BusError) { try BusError.check(result, writing: what()) } catch { failure = error }
  }

  // MARK: Basic types

  /// Fails when the text holds a NUL, which D-Bus cannot carry.
  public mutating func appendString(_ value: String) { appendText("s", value, "a string") }

  /// Fails when `value` is not a valid object path.
  public mutating func appendObjectPath(_ value: String) { appendText("o", value, "an object path") }

  /// A `b`.
  public mutating func appendBool(_ value: Bool) { appendBasic("b", Int32(value ? 1 : 0)) }
  /// A `y`.
  public mutating func appendByte(_ value: UInt8) { appendBasic("y", value) }
  /// An `i`.
  public mutating func appendInt32(_ value: Int32) { appendBasic("i", value) }
  /// A `u`.
  public mutating func appendUInt32(_ value: UInt32) { appendBasic("u", value) }
  /// An `x`.
  public mutating func appendInt64(_ value: Int64) { appendBasic("x", value) }
  /// A `t`.
  public mutating func appendUInt64(_ value: UInt64) { appendBasic("t", value) }

  /// An `s` with a copy of a text that is a secret. Fails if the text is not UTF-8, or has a NUL, which D-Bus cannot carry.
  public mutating func appendText(_ text: RawSpan) {
    text.withUnsafeBytes { appendText($0) }
  }

  private mutating func appendText(_ text: UnsafeRawBufferPointer) {
    guard count(text.count) else { return }
    let isText = (try? UTF8Span(validating: text.bindMemory(to: UInt8.self).span)) != nil && !text.contains(0)
    guard isText else { return failure = .invalidArguments("a secret is no text") }
    var start: UnsafeMutablePointer<CChar>?
    check(sd_bus_message_append_string_space(pointer, text.count, &start), writing: "a text")
    guard failure == nil, let start, let from = text.baseAddress else { return }
    UnsafeMutableRawPointer(start).copyMemory(from: from, byteCount: text.count)
  }

  // MARK: Bytes

  /// An `ay` with a copy of the bytes.
  public mutating func appendBytes(_ bytes: RawSpan) {
    guard count(bytes.byteCount) else { return }
    let result = bytes.withUnsafeBytes { from in
      sd_bus_message_append_array(pointer, Message.code("y"), from.baseAddress, from.count)
    }
    check(result, writing: "bytes")
  }

  /// An `ay` with a copy of bytes that are not secret.
  public mutating func appendBytes(_ bytes: [UInt8]) { appendBytes(bytes.span.bytes) }

  // MARK: Containers

  /// An array with one element for each of `values`, appended by `element`. `contents` is the signature of one element.
  public mutating func appendArray<Values: Sequence, E: Error>(
    _ contents: String, of values: Values, _ element: (inout MessageWriter, Values.Element) throws(E) -> Void
  ) throws(E) {
    open("a", contents)
    for value in values {
      guard failure == nil else { return }
      try element(&self, value)
    }
    close()
  }

  /// A dictionary; `body` calls `appendEntry` on it. `contents` is the signature of key and value, such as `sv`.
  public mutating func appendDictionary<E: Error>(
    _ contents: String, _ body: (inout MessageWriter) throws(E) -> Void
  ) throws(E) {
    try container("a", "{\(contents)}", body)
  }

  /// One entry of a dictionary: `body` appends key and value.
  public mutating func appendEntry<E: Error>(
    _ contents: String, _ body: (inout MessageWriter) throws(E) -> Void
  ) throws(E) {
    try container("e", contents, body)
  }

  /// One entry of an `a{sv}`, such as a property: its name, and its value of one complete type.
  public mutating func appendProperty<E: Error>(
    _ name: String, _ type: String, _ value: (inout MessageWriter) throws(E) -> Void
  ) throws(E) {
    try appendEntry("sv") { (entry: inout MessageWriter) throws(E) in
      entry.appendString(name)
      try entry.appendVariant(type, value)
    }
  }

  /// A structure. `contents` is the signature of its fields, without parentheses.
  public mutating func appendStruct<E: Error>(
    _ contents: String, _ body: (inout MessageWriter) throws(E) -> Void
  ) throws(E) {
    try container("r", contents, body)
  }

  /// A variant that holds one complete type, `contents`.
  public mutating func appendVariant<E: Error>(
    _ contents: String, _ body: (inout MessageWriter) throws(E) -> Void
  ) throws(E) {
    try container("v", contents, body)
  }

  /// `a{ss}`, in the order of the keys.
  public mutating func appendStringDictionary(_ values: [String: String]) {
    appendArray("{ss}", of: values.sorted { $0.key < $1.key }) { out, entry in
      out.open("e", "ss")
      out.appendString(entry.key)
      out.appendString(entry.value)
      out.close()
    }
  }

  /// `ao`.
  public mutating func appendObjectPaths(_ paths: some Sequence<String>) {
    appendArray("o", of: paths) { $0.appendObjectPath($1) }
  }

  /// `as`.
  public mutating func appendStrings(_ strings: some Sequence<String>) {
    appendArray("s", of: strings) { $0.appendString($1) }
  }

  /// Opens a container, for code that cannot use closures. Each `open` needs its `close`.
  public mutating func open(_ type: Unicode.Scalar, _ contents: String) {
    guard count(0) else { return }
    check(
      sd_bus_message_open_container(pointer, Message.code(type), contents), writing: "a container of \(contents)")
  }

  /// Closes the container opened last.
  public mutating func close() {
    // After an error it is not known which containers are open.
    guard failure == nil else { return }
    check(sd_bus_message_close_container(pointer), writing: "the end of a container")
  }

  private mutating func container<E: Error>(
    _ type: Unicode.Scalar, _ contents: String, _ body: (inout MessageWriter) throws(E) -> Void
  ) throws(E) {
    open(type, contents)
    guard failure == nil else { return }
    try body(&self)
    close()
  }

  private mutating func appendText(_ type: Unicode.Scalar, _ value: String, _ what: String) {
    guard count(value.utf8.count) else { return }
    var hasNUL = false
    let result = value.withCString { text in
      hasNUL = strlen(text) != value.utf8.count
      return hasNUL ? 0 : sd_bus_message_append_basic(pointer, Message.code(type), text)
    }
    guard !hasNUL else { return failure = .invalidArguments("a text holds a NUL") }
    check(result, writing: what)
  }

  mutating func appendBasic<Value: BitwiseCopyable>(_ type: Unicode.Scalar, _ value: Value) {
    guard count(0) else { return }
    let result = withUnsafePointer(to: value) { sd_bus_message_append_basic(pointer, Message.code(type), $0) }
    check(result, writing: "a value of type \(type)")
  }
}
