import LatchkeySystemd

/// The objects on the bus, for introspection and for calls to objects that do not exist.
final class PresentObjects {
  private let tree: CollectionTree
  private let sessions: TransportSessions
  private let prompts: PromptTable
  private let portal: PortalObject

  init(_ tree: CollectionTree, sessions: TransportSessions, prompts: PromptTable, portal: PortalObject) {
    self.tree = tree
    self.sessions = sessions
    self.prompts = prompts
    self.portal = portal
  }

  /// The paths right below a path.
  func children(of path: String) -> [String] {
    let paths = tree.places.map { tree.path(of: $0) } + tree.itemPaths(below: path)
    // Direct children only: a path with further parts is not in the parent's own list.
    return (paths + sessions.allPaths + prompts.allPaths).filter { ObjectPath.parent(of: $0) == path }
  }

  /// Refuses calls to objects that do not exist, for every path on the connection, because clients may make up any path. The
  /// specification's error for them is `NoSuchObject`; sd-bus would say `UnknownObject`, which SecretStorage 3.3 does not take for
  /// a missing item.
  func refuseOthers(on bus: Bus) throws(SystemdError) -> [BusSlot] {
    var slots = [
      try bus.refuseCalls(below: "/") { [self] call in
        Self.isIntrospection(call) && call.path == "/" ? nil : absence(call)
      }
    ]
    // sd-bus would answer these two calls by itself, even for an item that does not exist, because the interfaces of items are
    // registered for every number.
    for prefix in [ObjectPath.collections, ObjectPath.aliases] {
      slots.append(
        try bus.refuseCalls(below: prefix) { [self] call in
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

  /// Whether there is an object at a path. If that is unknown, the call tells why.
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
      return path == ObjectPath.root || sessions.contains(path) || prompts[path] != nil || path == VaultObject.path
        || path == PortalRequest.portal || portal.hasRequest(at: path)
    }
  }
}
