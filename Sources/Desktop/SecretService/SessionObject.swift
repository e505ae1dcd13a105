import LatchkeySystemd

/// The interface `org.freedesktop.Secret.Session`.
extension SecretService {
  var sessionInterface: ObjectInterface {
    ObjectInterface(Self.sessionName, methods: [.init("Close", handler: closeSession)])
  }

  private func closeSession(_ call: MethodCall) throws(BusError) {
    guard sessions[call.path]?.owner == call.sender else { throw .accessDenied("that session is not yours") }
    sessions.remove(call.path)
    call.reply()
  }
}
