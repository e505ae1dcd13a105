import CLatchkeySystemd
import Glibc

/// The description of an interface for sd-bus. The table and its strings are C memory that lives exactly as long as this object,
/// and sd-bus keeps this object for as long as it reads the table.
final class ExportedInterface {
  let table: UnsafeMutablePointer<sd_bus_vtable>
  private let count: Int
  private var strings: [UnsafeMutablePointer<CChar>?] = []
  private var methods: [String: ObjectInterface.Method] = [:]
  private var properties: [String: ObjectInterface.Property] = [:]
  private let exists: (String) -> Bool

  init(_ interface: ObjectInterface, exists: @escaping (String) -> Bool) {
    self.exists = exists
    count = interface.methods.count + interface.properties.count + interface.signals.count + 2
    table = .allocate(capacity: count)
    // sd-bus reads unused parts of the unions too.
    memset(table, 0, count * MemoryLayout<sd_bus_vtable>.stride)
    latchkey_vtable_start(table)
    var index = 1
    for method in interface.methods {
      methods[method.name] = method
      latchkey_vtable_method(
        table + index, keep(method.name), keep(method.input.map(\.type).joined()),
        keep(method.output.map(\.type).joined()), keep(names: method.input + method.output),
        Self.called, Self.flags(method.flags))
      index += 1
    }
    for property in interface.properties {
      properties[property.name] = property
      latchkey_vtable_property(
        table + index, keep(property.name), keep(property.type), Self.get, property.setter == nil ? nil : Self.set,
        Self.flags(property))
      index += 1
    }
    for signal in interface.signals {
      latchkey_vtable_signal(
        table + index, keep(signal.name), keep(signal.arguments.map(\.type).joined()), keep(names: signal.arguments),
        Self.flags(signal.flags) & ~UInt64(SD_BUS_VTABLE_UNPRIVILEGED))
      index += 1
    }
    latchkey_vtable_end(table + index)
  }

  deinit {
    table.deallocate()
    for string in strings { free(string) }
  }

  private func keep(_ text: String) -> UnsafePointer<CChar>? {
    let copy = strdup(text)
    strings.append(copy)
    return UnsafePointer(copy)
  }

  /// The names one after the other, each ended by a NUL, and one more at the end.
  private func keep(names arguments: [ObjectInterface.Argument]) -> UnsafePointer<CChar>? {
    var bytes: [CChar] = []
    for argument in arguments {
      bytes += argument.name.utf8.map { CChar(bitPattern: $0) }
      bytes.append(0)
    }
    bytes.append(0)
    guard let raw = malloc(bytes.count) else { return nil }
    let copy = raw.assumingMemoryBound(to: CChar.self)
    for (offset, byte) in bytes.enumerated() { copy[offset] = byte }
    strings.append(copy)
    return UnsafePointer(copy)
  }

  private static func flags(_ flags: ObjectInterface.MemberFlags) -> UInt64 {
    // Without UNPRIVILEGED sd-bus asks the bus driver for the caller's capabilities, and waits for the answer.
    var result = UInt64(SD_BUS_VTABLE_UNPRIVILEGED)
    if flags.contains(.deprecated) { result |= UInt64(SD_BUS_VTABLE_DEPRECATED) }
    if flags.contains(.hidden) { result |= UInt64(SD_BUS_VTABLE_HIDDEN) }
    if flags.contains(.sensitive) { result |= UInt64(SD_BUS_VTABLE_SENSITIVE) }
    if flags.contains(.noReply) { result |= UInt64(SD_BUS_VTABLE_METHOD_NO_REPLY) }
    return result
  }

  private static func flags(_ property: ObjectInterface.Property) -> UInt64 {
    let flags = property.flags
    // Every user may read. sd-bus refuses the flag on a property that cannot be written.
    var result = property.setter == nil ? 0 : UInt64(SD_BUS_VTABLE_UNPRIVILEGED)
    if flags.contains(.emitsChange) { result |= UInt64(SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE) }
    if flags.contains(.invalidates) { result |= UInt64(SD_BUS_VTABLE_PROPERTY_EMITS_INVALIDATION) }
    if flags.contains(.constant) { result |= UInt64(SD_BUS_VTABLE_PROPERTY_CONST) }
    if flags.contains(.explicit) { result |= UInt64(SD_BUS_VTABLE_PROPERTY_EXPLICIT) }
    if flags.contains(.deprecated) { result |= UInt64(SD_BUS_VTABLE_DEPRECATED) }
    if flags.contains(.sensitive) { result |= UInt64(SD_BUS_VTABLE_SENSITIVE) }
    return result
  }

  // MARK: Called by sd-bus

  static let find: sd_bus_object_find_t = { _, path, _, userdata, found, _ in
    guard let path, let userdata else { return 0 }
    let box = userdata.box(as: ExportedInterface.self)
    guard box.exists(String(cString: path)) else { return 0 }
    found?.pointee = userdata
    return 1
  }

  private static let called: sd_bus_message_handler_t = { message, userdata, error in
    guard let message, let box = userdata?.box(as: ExportedInterface.self) else { return -EINVAL }
    guard let member = sd_bus_message_get_member(message), let method = box.methods[String(cString: member)] else {
      return 0
    }
    let call = MethodCall(message)
    do throws(BusError) { try method.handler(call) } catch { call.fail(error) }
    return 1
  }

  private static let get: sd_bus_property_get_t = { _, path, _, name, reply, userdata, target in
    guard let path, let name, let reply, let box = userdata?.box(as: ExportedInterface.self),
      let property = box.properties[String(cString: name)]
    else { return -EINVAL }
    do throws(BusError) {
      try MessageWriter.write(reply) { out throws(BusError) in try property.getter(String(cString: path), &out) }
      return 1
    } catch {
      return error.store(in: target)
    }
  }

  private static let set: sd_bus_property_set_t = { _, path, _, name, value, userdata, target in
    guard let path, let name, let value, let box = userdata?.box(as: ExportedInterface.self),
      let setter = box.properties[String(cString: name)]?.setter
    else { return -EINVAL }
    do throws(BusError) {
      try setter(String(cString: path), Message(retaining: value))
      return 1
    } catch {
      return error.store(in: target)
    }
  }
}

final class NodeEnumerator {
  private let nodes: (String) -> [String]

  init(_ nodes: @escaping (String) -> [String]) { self.nodes = nodes }

  static let enumerate: sd_bus_node_enumerator_t = { _, path, userdata, result, _ in
    guard let path, let box = userdata?.box(as: NodeEnumerator.self) else { return 0 }
    // An invalid path would fail the whole introspection, so it is left out.
    let paths = box.nodes(String(cString: path)).filter { sd_bus_object_path_is_valid($0) > 0 }
    // sd-bus frees the array and its strings.
    guard let raw = calloc(paths.count + 1, MemoryLayout<UnsafeMutablePointer<CChar>?>.stride) else { return -ENOMEM }
    let list = raw.assumingMemoryBound(to: UnsafeMutablePointer<CChar>?.self)
    for (index, path) in paths.enumerated() { list[index] = strdup(path) }
    result?.pointee = list
    return 0
  }
}
