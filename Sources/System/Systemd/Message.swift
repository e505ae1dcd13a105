import CLatchkeySystemd
import Glibc

/// A received message, with a cursor that reads its content from front to back. For any message, a read returns a value of
/// the requested type or throws `org.freedesktop.DBus.Error.InvalidArgs`. After a throw the position is undefined.
public final class Message {
  let pointer: OpaquePointer

  init(retaining pointer: OpaquePointer) {
    self.pointer = pointer
    sd_bus_message_ref(pointer)
  }

  deinit { sd_bus_message_unref(pointer) }

  /// The unique name of the sender, which the bus guarantees.
  public var sender: String? { Self.string(sd_bus_message_get_sender(pointer)) }
  /// The object to which a call goes, or from which a signal comes.
  public var path: String? { Self.string(sd_bus_message_get_path(pointer)) }
  /// The interface of call or signal.
  public var interface: String? { Self.string(sd_bus_message_get_interface(pointer)) }
  /// The name of the method or signal.
  public var member: String? { Self.string(sd_bus_message_get_member(pointer)) }

  /// The signature of the whole content.
  public var signature: String { Self.string(sd_bus_message_get_signature(pointer, 1)) ?? "" }

  private static func string(_ text: UnsafePointer<CChar>?) -> String? { text.map { String(cString: $0) } }

  // MARK: Where the cursor is

  /// Whether the current container (or the message) has been read to its end.
  public var isAtEnd: Bool { sd_bus_message_at_end(pointer, 0) != 0 }

  /// The signature of the value in the variant at the cursor.
  public func peekVariant() throws(BusError) -> String {
    var type: CChar = 0
    var contents: UnsafePointer<CChar>?
    let result = sd_bus_message_peek_type(pointer, &type, &contents)
    guard result > 0, UInt8(bitPattern: type) == UInt8(ascii: "v"), let contents else {
      throw unreadable(result, "variant")
    }
    return String(cString: contents)
  }

  /// Passes over the next element of any type.
  public func skip() throws(BusError) {
    let result = sd_bus_message_skip(pointer, nil)
    if result < 0 { throw unreadable(result, "element") }
  }

  /// Goes back to the beginning.
  public func rewind() { sd_bus_message_rewind(pointer, 1) }

  // MARK: Basic types

  /// An `s`. Bytes that are not UTF-8 are replaced.
  public func readString() throws(BusError) -> String { try readText("s", "string") }

  /// Lends the text of an `s` that is a secret, in UTF-8 as the bus verified it. It is valid inside `body` only.
  public func withText<R>(_ body: (RawSpan) throws(BusError) -> R) throws(BusError) -> R {
    var text: UnsafePointer<CChar>?
    let result = sd_bus_message_read_basic(pointer, Self.code("s"), &text)
    guard result > 0, let text else { throw unreadable(result, "string") }
    // The bytes are the message's: the message must live until the body returned.
    return try withExtendedLifetime(self) { () throws(BusError) in
      try body(UnsafeRawBufferPointer(start: text, count: strlen(text)).bytes)
    }
  }

  /// An `o`, valid as a path.
  public func readObjectPath() throws(BusError) -> String { try readText("o", "object path") }
  /// A `b`.
  public func readBool() throws(BusError) -> Bool { try readBasic("b", "boolean", Int32(0)) != 0 }
  /// A `y`.
  public func readByte() throws(BusError) -> UInt8 { try readBasic("y", "byte", 0) }
  /// A `u`.
  public func readUInt32() throws(BusError) -> UInt32 { try readBasic("u", "32-bit number", 0) }
  /// An `i`.
  public func readInt32() throws(BusError) -> Int32 { try readBasic("i", "signed 32-bit number", 0) }
  /// An `x`.
  public func readInt64() throws(BusError) -> Int64 { try readBasic("x", "signed 64-bit number", 0) }
  /// A `t`.
  public func readUInt64() throws(BusError) -> UInt64 { try readBasic("t", "64-bit number", 0) }
  /// A file descriptor of the caller's own (close-on-exec), for the caller to close.
  public func readUnixFD() throws(BusError) -> Int32 {
    let borrowed = try readBasic("h", "file descriptor", Int32(-1))
    let owned = fcntl(borrowed, F_DUPFD_CLOEXEC, 3)
    guard owned >= 0 else { throw .failed("no file descriptor left") }
    return owned
  }

  // MARK: Containers

  /// The most elements of an array that are accepted. Each may cost its reader a database query, and no other call is served
  /// meanwhile.
  private static let elementLimit = 1 << 17

  private static func check(count: Int) throws(BusError) {
    guard count < elementLimit else { throw .limitsExceeded("an array has more than \(elementLimit) elements") }
  }

  /// Lends the bytes of an `ay`. They are valid inside `body` only. The array may be empty.
  public func readBytes<R, E: Error>(
    _ body: (RawSpan) throws(E) -> R
  ) throws(BusError) -> Result<R, E> {
    var start: UnsafeRawPointer?
    var size = 0
    let result = sd_bus_message_read_array(pointer, Self.code("y"), &start, &size)
    if result <= 0 { throw unreadable(result, "array of bytes") }
    // The span is borrowed from the message: the message must live until the body returned.
    return withExtendedLifetime(self) {
      do throws(E) {
        return .success(try body(UnsafeRawBufferPointer(start: size == 0 ? nil : start, count: size).bytes))
      } catch { return .failure(error) }
    }
  }

  /// Lends the bytes of an `ay` to a body that throws only `BusError`, or nothing.
  public func withBytes<R>(_ body: (RawSpan) throws(BusError) -> R) throws(BusError) -> R {
    try readBytes(body).get()
  }

  /// The bytes of an `ay` that are not secret.
  public func readOctets() throws(BusError) -> [UInt8] {
    try withBytes { (bytes: RawSpan) throws(BusError) in bytes.withUnsafeBytes { Array($0) } }
  }

  /// Reads an array: `element` is called once for each, and must read (or skip) it. `contents` is the signature of
  /// one element.
  ///
  /// Throws `LimitsExceeded` if the array has more than 131,072 elements, as every reader of arrays except byte arrays does.
  public func readArray<Element>(
    _ contents: String, _ element: (Message) throws(BusError) -> Element
  ) throws(BusError) -> [Element] {
    var elements: [Element] = []
    try container("a", contents, "array") { (message: Message) throws(BusError) in
      while !message.isAtEnd {
        try Self.check(count: elements.count)
        elements.append(try element(message))
      }
    }
    return elements
  }

  /// Reads a dictionary: `entry` is called once for each entry, and reads the key, then the value. `contents` is the signature of
  /// key and value, such as `sv`.
  public func readDictionary(
    _ contents: String, _ entry: (Message) throws(BusError) -> Void
  ) throws(BusError) {
    try container("a", "{\(contents)}", "dictionary") { (message: Message) throws(BusError) in
      var count = 0
      while !message.isAtEnd {
        try Self.check(count: count)
        try message.container("e", contents, "dictionary entry", entry)
        count += 1
      }
    }
  }

  /// Reads a structure. `contents` is the signature of its fields, without parentheses.
  public func readStruct<R>(
    _ contents: String, _ body: (Message) throws(BusError) -> R
  ) throws(BusError) -> R {
    try container("r", contents, "structure", body)
  }

  /// Reads a variant that must hold one complete type, `contents`.
  public func readVariant<R>(
    _ contents: String, _ body: (Message) throws(BusError) -> R
  ) throws(BusError) -> R {
    try container("v", contents, "variant", body)
  }

  /// `a{ss}`; throws if two keys are equal.
  public func readStringDictionary() throws(BusError) -> [String: String] {
    var result: [String: String] = [:]
    try readDictionary("ss") { (entry: Message) throws(BusError) in
      let key = try entry.readString()
      // Swift treats names that only differ in how their accents are composed as one name. One of the two would be lost.
      guard result.updateValue(try entry.readString(), forKey: key) == nil else {
        throw BusError.invalidArguments("two entries have the same name")
      }
    }
    return result
  }

  /// `ao`.
  public func readObjectPaths() throws(BusError) -> [String] {
    try readArray("o") { (message: Message) throws(BusError) in try message.readObjectPath() }
  }

  /// `as`.
  public func readStrings() throws(BusError) -> [String] {
    try readArray("s") { (message: Message) throws(BusError) in try message.readString() }
  }

  private func container<R>(
    _ type: Unicode.Scalar, _ contents: String, _ name: String, _ body: (Message) throws(BusError) -> R
  ) throws(BusError) -> R {
    let entered = sd_bus_message_enter_container(pointer, Self.code(type), contents)
    if entered <= 0 { throw unreadable(entered, "\(name) of \(contents)") }
    let value = try body(self)
    // Unknown fields leave the rest readable.
    while !isAtEnd { try skip() }
    let left = sd_bus_message_exit_container(pointer)
    if left < 0 { throw unreadable(left, "end of \(name)") }
    return value
  }

  private func readText(_ type: Unicode.Scalar, _ name: String) throws(BusError) -> String {
    var text: UnsafePointer<CChar>?
    let result = sd_bus_message_read_basic(pointer, Self.code(type), &text)
    guard result > 0, let text else { throw unreadable(result, name) }
    return String(cString: text)
  }

  private func readBasic<Value: BitwiseCopyable>(
    _ type: Unicode.Scalar, _ name: String, _ initial: Value
  ) throws(BusError) -> Value {
    var value = initial
    let result = sd_bus_message_read_basic(pointer, Self.code(type), &value)
    if result <= 0 { throw unreadable(result, name) }
    return value
  }

  /// Never quotes the wrong value, because it may be a secret.
  private func unreadable(_ result: Int32, _ expected: String) -> BusError {
    switch -result {
    case ENOMEM: .failed("no memory to read a message")
    case 0: .invalidArguments("message ends where a \(expected) was expected")
    default: .invalidArguments("expected a \(expected)")
    }
  }

  static func code(_ scalar: Unicode.Scalar) -> CChar { CChar(truncatingIfNeeded: scalar.value) }
}
