import CLatchkeySystemd

/// A call whose arguments have another type than introspection shows. Some clients send such calls.
final class OtherForm {
  private let interface: String
  private let member: String
  private let signature: String
  private let sensitive: Bool
  private let exists: (String) -> Bool
  private let handler: (MethodCall) throws(BusError) -> Void

  init(
    _ member: String, of interface: String, signature: String, sensitive: Bool,
    where exists: @escaping (String) -> Bool, handler: @escaping (MethodCall) throws(BusError) -> Void
  ) {
    self.member = member
    self.interface = interface
    self.signature = signature
    self.sensitive = sensitive
    self.exists = exists
    self.handler = handler
  }

  private func matches(_ message: Message) -> Bool {
    message.member == member && message.interface == interface && message.signature == signature
      && message.path.map(exists) ?? false
  }

  static let called: sd_bus_message_handler_t = { message, userdata, _ in
    guard let message, let box = userdata?.box(as: OtherForm.self), box.matches(Message(retaining: message)) else {
      return 0
    }
    if box.sensitive { sd_bus_message_sensitive(message) }
    let call = MethodCall(message)
    do throws(BusError) { try box.handler(call) } catch { call.fail(error) }
    return 1
  }
}

extension Bus {
  /// Accepts a method of an exported interface with arguments of another signature as well. sd-bus would refuse such a call,
  /// because one method can have one signature only. Introspection does not show it.
  ///
  /// - Parameters:
  ///   - signature: the other signature.
  ///   - sensitive: whether the memory of the call is erased when freed.
  ///   - exists: whether there is an object at a path.
  ///
  /// This is a filter and no fallback, because below a fallback's prefix, sd-bus takes every path for an existing object.
  public func takeOtherForm(
    of member: String, in interface: String, signature: String, sensitive: Bool = false,
    where exists: @escaping (String) -> Bool, handler: @escaping (MethodCall) throws(BusError) -> Void
  ) throws(SystemdError) -> BusSlot {
    let form = OtherForm(
      member, of: interface, signature: signature, sensitive: sensitive, where: exists, handler: handler)
    return try BusSlot(box: form, "take calls of \(member)") { slot, userdata in
      sd_bus_add_filter(pointer, &slot, OtherForm.called, userdata)
    }
  }
}
