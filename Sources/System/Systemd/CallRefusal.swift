import CLatchkeySystemd

/// Decides which calls get an error instead of sd-bus's own answer.
final class CallRefusal {
  private let error: (Message) -> BusError?

  init(_ error: @escaping (Message) -> BusError?) { self.error = error }

  static let called: sd_bus_message_handler_t = { message, userdata, target in
    guard let message, let box = userdata?.box(as: CallRefusal.self) else { return 0 }
    return box.error(Message(retaining: message))?.store(in: target) ?? 0
  }
}

extension Bus {
  /// Answers calls to `prefix`, and to every path below it, with the error that `error` returns; nil lets the call pass.
  ///
  /// sd-bus asks the path's own node first, then one prefix after the other up to the root. For each path it asks this handler
  /// before the interfaces.
  public func refuseCalls(
    below prefix: String, with error: @escaping (Message) -> BusError?
  ) throws(SystemdError) -> BusSlot {
    try BusSlot(box: CallRefusal(error), "refuse calls below \(prefix)") { slot, userdata in
      sd_bus_add_fallback(pointer, &slot, prefix, CallRefusal.called, userdata)
    }
  }
}
