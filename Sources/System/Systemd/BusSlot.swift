import CLatchkeySystemd

/// A registration at a bus: a match, an exported interface, a node enumerator, a watch. The owner of a registration ends it by
/// dropping this object, even from within the handler.
public final class BusSlot {
  private var slot: OpaquePointer?

  /// Other registrations that end together with this registration.
  private var companions: [BusSlot]

  /// Registers with `add`, which gets a place for the C slot, and the userdata to pass on. sd-bus owns a reference to `box` until
  /// its slot is really freed, which can be later than the end of this object, if a handler drops its own.
  init(
    box: AnyObject, _ operation: String, companions: [BusSlot] = [],
    add: (inout OpaquePointer?, UnsafeMutableRawPointer) -> Int32
  ) throws(SystemdError) {
    self.companions = companions
    slot = nil
    slot = try Self.register(box: box, operation, add: add)
  }

  deinit { cancel() }

  /// Ends the registration. Its handlers are not called again.
  public func cancel() {
    companions = []
    guard let slot else { return }
    self.slot = nil
    sd_bus_slot_unref(slot)
  }

  /// Registers an event that happens once and has no owner, such as the reply to a call.
  static func float(
    box: AnyObject, _ operation: String, add: (inout OpaquePointer?, UnsafeMutableRawPointer) -> Int32
  ) throws(SystemdError) {
    let slot = try register(box: box, operation, add: add)
    sd_bus_slot_set_floating(slot, 1)
    sd_bus_slot_unref(slot)
  }

  private static func register(
    box: AnyObject, _ operation: String, add: (inout OpaquePointer?, UnsafeMutableRawPointer) -> Int32
  ) throws(SystemdError) -> OpaquePointer {
    let retained = Unmanaged<AnyObject>.passRetained(box)
    var added: OpaquePointer?
    let result = add(&added, retained.toOpaque())
    guard result >= 0, let added else {
      retained.release()
      throw SystemdError(errno: result < 0 ? -result : 22, operation: operation)
    }
    sd_bus_slot_set_destroy_callback(added) { userdata in
      if let userdata { Unmanaged<AnyObject>.fromOpaque(userdata).release() }
    }
    return added
  }
}

extension UnsafeMutableRawPointer {
  /// The object that was given as userdata.
  func box<Box: AnyObject>(as type: Box.Type) -> Box { Unmanaged<Box>.fromOpaque(self).takeUnretainedValue() }
}
