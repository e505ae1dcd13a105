import LatchkeySSHProtocol

/// The place that a request for a signature comes from.
enum RequestOrigin {
  /// A program of this machine.
  case here
  /// Another machine, by agent forwarding.
  case elsewhere
  /// The program does not say where the request comes from.
  case unknown

  /// A binding proves nothing by itself: a remote machine whose ssh here did not bind the connection can bind it as a local one.
  /// So only a program that always binds what it forwards is believed.
  init(_ bindings: SessionBindings, _ asker: Asker) {
    if bindings.isForwarded {
      self = .elsewhere
    } else {
      self = asker.isLocalTool || asker.bindsForwarded && !bindings.isUnbound ? .here : .unknown
    }
  }
}
