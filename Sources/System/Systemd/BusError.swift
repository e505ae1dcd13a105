import CLatchkeySystemd
import Glibc

/// An error as it travels over D-Bus. A handler throws it, and a failed call returns it.
public struct BusError: Error, Equatable, CustomStringConvertible {
  /// A D-Bus error name, such as `org.freedesktop.DBus.Error.Failed`.
  public let name: String

  /// The message for a person. The text reaches the other side: never put a secret here.
  public let message: String

  /// The error for a program: bytes after the message, for callers that asked for them (`takesDetail` of `Bus.callAsync`). Errors
  /// of properties have no such bytes.
  public let detail: [UInt8]

  /// An error of any name.
  public init(name: String, message: String, detail: [UInt8] = []) {
    self.name = name
    self.message = message
    self.detail = detail
  }

  /// Whether both have the same name and message.
  public static func == (left: BusError, right: BusError) -> Bool {
    left.name == right.name && left.message == right.message
  }

  /// Name and message, for a log line.
  public var description: String { message.isEmpty ? name : "\(name): \(message)" }

  /// `org.freedesktop.DBus.Error.Failed`.
  public static func failed(_ message: String) -> BusError { standard("Failed", message) }
  /// `org.freedesktop.DBus.Error.InvalidArgs`.
  public static func invalidArguments(_ message: String) -> BusError { standard("InvalidArgs", message) }
  /// `org.freedesktop.DBus.Error.AccessDenied`.
  public static func accessDenied(_ message: String) -> BusError { standard("AccessDenied", message) }
  /// `org.freedesktop.DBus.Error.NotSupported`.
  public static func notSupported(_ message: String) -> BusError { standard("NotSupported", message) }
  /// `org.freedesktop.DBus.Error.LimitsExceeded`.
  public static func limitsExceeded(_ message: String) -> BusError { standard("LimitsExceeded", message) }
  /// `org.freedesktop.DBus.Error.NoReply`.
  public static func noReply(_ message: String) -> BusError { standard("NoReply", message) }
  /// `org.freedesktop.DBus.Error.Disconnected`.
  public static func disconnected(_ message: String) -> BusError { standard("Disconnected", message) }

  /// Whether this is the error `org.freedesktop.DBus.Error.<suffix>`.
  public func isStandard(_ suffix: String) -> Bool { name == Self.prefix + suffix }

  private static let prefix = "org.freedesktop.DBus.Error."

  private static func standard(_ suffix: String, _ message: String) -> BusError {
    BusError(name: prefix + suffix, message: message)
  }

  /// Hands the error to sd-bus and returns the result that sd-bus's callbacks must return.
  func store(in target: UnsafeMutablePointer<sd_bus_error>?) -> Int32 {
    let result = sd_bus_error_set(target, name, message)
    return result < 0 ? result : -EIO
  }

  /// The error of an error message; nil for any other message.
  init?(message: OpaquePointer) {
    guard let error = sd_bus_message_get_error(message), let name = error.pointee.name else { return nil }
    let text = error.pointee.message.map { String(cString: $0) } ?? ""
    self.init(name: String(cString: name), message: text, detail: BusError.detail(of: message))
  }

  private static func detail(of message: OpaquePointer) -> [UInt8] {
    guard sd_bus_message_has_signature(message, "say") > 0, sd_bus_message_skip(message, "s") >= 0 else { return [] }
    var bytes: UnsafeRawPointer?
    var count = 0
    guard sd_bus_message_read_array(message, CChar(bitPattern: UInt8(ascii: "y")), &bytes, &count) > 0, let bytes else {
      return []
    }
    return Array(UnsafeRawBufferPointer(start: bytes, count: count))
  }

  /// Throws the error of writing or sending a message.
  static func check(_ result: Int32, writing what: @autoclosure () -> String) throws(BusError) {
    if result >= 0 { return }
    switch -result {
    case ENOTCONN, ECONNRESET, ESHUTDOWN: throw .disconnected("not connected to the bus")
    default: throw .failed("cannot write \(what()): \(String(cString: strerror(-result)))")
    }
  }
}
