import CLatchkeySystemd

/// A method call that waits for its answer. It may be kept and answered later. Only the first answer counts. If it is dropped
/// without an answer, the call fails with `org.freedesktop.DBus.Error.Failed`, so that no caller waits in vain.
public final class MethodCall {
  /// The call's arguments and sender.
  public let message: Message

  /// Whether the call was answered.
  public private(set) var isAnswered = false

  init(_ message: OpaquePointer) { self.message = Message(retaining: message) }

  deinit {
    if !isAnswered { fail(.failed("the call was dropped without an answer")) }
  }

  /// The unique name of the caller.
  public var sender: String { message.sender ?? "" }

  /// The object that the call went to.
  public var path: String { message.path ?? "" }

  /// Answers with the values from `build`, or with its error. The answer to a sensitive call is sensitive.
  public func reply(
    sensitive: Bool = false,
    _ build: (inout MessageWriter) throws(BusError) -> Void = { _ in }
  ) {
    guard !isAnswered else { return }
    var answer: OpaquePointer?
    guard sd_bus_message_new_method_return(message.pointer, &answer) >= 0, let answer else {
      return fail(.failed("no memory for an answer"))
    }
    defer { sd_bus_message_unref(answer) }
    if sensitive { sd_bus_message_sensitive(answer) }
    do throws(BusError) {
      try MessageWriter.write(answer, build)
      // A failure is not reported, because the caller or the connection has ended, or (a bug in `build`) the answer does not fit
      // the declared signature, which sd-bus refuses to send.
      try BusError.check(sd_bus_message_send(answer), writing: "an answer")
      isAnswered = true
    } catch {
      fail(error)
    }
  }

  /// Answers with an error. The detail goes only to callers that asked for details, because GLib shows no message that is followed
  /// by other values.
  public func fail(_ error: BusError) {
    guard !isAnswered else { return }
    isAnswered = true
    let takesDetail = sd_bus_message_get_allow_interactive_authorization(message.pointer) > 0
    if takesDetail, !error.detail.isEmpty, send(error, with: error.detail) { return }
    _ = send(error, with: [])
  }

  /// Whether the error could be written.
  private func send(_ error: BusError, with detail: [UInt8]) -> Bool {
    var answer: OpaquePointer?
    var raw = sd_bus_error()
    defer { sd_bus_error_free(&raw) }
    sd_bus_error_set(&raw, error.name, error.message)
    guard sd_bus_message_new_method_error(message.pointer, &answer, &raw) >= 0, let answer else { return false }
    defer { sd_bus_message_unref(answer) }
    if !detail.isEmpty {
      let result = detail.withUnsafeBytes {
        sd_bus_message_append_array(answer, CChar(bitPattern: UInt8(ascii: "y")), $0.baseAddress, $0.count)
      }
      guard result >= 0 else { return false }
    }
    sd_bus_message_send(answer)
    return true
  }
}
