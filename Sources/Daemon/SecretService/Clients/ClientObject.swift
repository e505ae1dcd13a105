import LatchkeySystemd

/// The interface `org.latchkey.Service` of the service's object: a client's wishes for its own prompts.
final class ClientObject {
  private let grants: AccessGrants
  private let clients: Clients

  init(_ grants: AccessGrants, clients: Clients) {
    self.grants = grants
    self.clients = clients
  }

  var interface: ObjectInterface {
    ObjectInterface(
      "org.latchkey.Service", methods: [.init("SetReuse", input: [.init("u", "seconds")], handler: setReuse)])
  }

  private func setReuse(_ call: MethodCall) throws(BusError) {
    let seconds = try call.message.readUInt32()
    guard seconds <= AccessGrants.longestReuse else {
      throw .invalidArguments("an item may be read again for \(AccessGrants.longestReuse) seconds at most")
    }
    clients.watch(call.sender)
    grants.setReuse(UInt16(seconds), for: call.sender)
    call.reply()
  }
}
