import LatchkeySystemd

/// Calls to objects that do not exist. The specification's error for them is `NoSuchObject`; sd-bus would say
/// `UnknownObject`, which SecretStorage 3.3 does not take for a missing item.
extension SecretService {
  /// Refuses such calls anywhere on the connection, as clients ask for paths of their own making.
  func refuseAbsentObjects() throws(SystemdError) -> [BusSlot] {
    var slots = [
      try bus.refuseCalls(below: "/") { [unowned self] call in
        Self.isIntrospection(call) && call.path == "/" ? nil : absence(call)
      }
    ]
    // Here sd-bus answers these two calls by itself: the interfaces of an item are there for every number, see init.
    for prefix in [ObjectPath.collections, ObjectPath.aliases] {
      slots.append(
        try bus.refuseCalls(below: prefix) { [unowned self] call in
          if Self.isIntrospection(call) { return call.path == prefix ? nil : absence(call) }
          return call.member == "GetAll" ? absence(call) : nil
        })
    }
    return slots
  }

  private static func isIntrospection(_ call: Message) -> Bool {
    call.member == "Introspect" && call.interface == "org.freedesktop.DBus.Introspectable"
  }

  private func absence(_ call: Message) -> BusError? {
    let path = call.path ?? ""
    return isObject(path) ? nil : .noSuchObject(path)
  }

  /// Whether there is an object at a path. Where that cannot be told, the call tells why.
  private func isObject(_ path: String) -> Bool {
    switch ObjectPath(path) {
    case .collection(let name): return tree.exists(name)
    case .item(let name, _):
      guard tree.exists(name) else { return false }
      do throws(BusError) {
        _ = try tree.item(at: path)
        return true
      } catch { return !error.isNoSuchObject }
    case .other:
      return path == ObjectPath.root || sessions[path] != nil || prompts[path] != nil || path == VaultObject.path
        || path == PortalRequest.portal || portalRequests.keys.contains { $0.handle == path }
    }
  }
}
