import LatchkeySSHProtocol

/// The place where a request for a signature comes from.
enum RequestOrigin {
  /// A program of this machine.
  case here
  /// Another machine, by agent forwarding.
  case elsewhere
  /// The program does not say where the request comes from.
  case unknown

  /// A binding alone proves nothing, because a remote machine can bind an unbound connection as if it were local. So only a program
  /// that always binds forwarded connections is trusted.
  init(_ bindings: SessionBindings, _ asker: Asker) {
    if bindings.isForwarded {
      self = .elsewhere
    } else {
      self = asker.isLocalTool || asker.bindsForwarded && !bindings.isUnbound ? .here : .unknown
    }
  }
}
