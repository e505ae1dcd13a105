import CLatchkeySystemd
import Glibc

extension Bus {
  /// Calls `handler` for each signal that fits; an argument that is nil fits anything. A handler that cannot read a signal's
  /// content throws, which drops the signal.
  ///
  /// Signals from before the bus accepted the rule are lost, so ask for a state only after `installed`.
  ///
  /// A peer can send a signal directly to this connection, without regard to all match rules. So `sender` is compared here once
  /// more, for unique names and for the bus driver. Any well-known name except the bus driver's cannot be compared. If the
  /// sender matters, give the unique name of the name's owner.
  ///
  /// - Parameters:
  ///   - arg0: only signals whose first argument is this string.
  ///   - arg0Namespace: only signals whose first argument is this name, or begins with it and a dot.
  ///   - installed: called once when the bus accepted the rule (nil) or refused it. Without it, a refused rule closes the
  ///     connection, so that expected signals are not lost silently.
  public func matchSignal(
    sender: String? = nil, path: String? = nil, interface: String? = nil, member: String? = nil, arg0: String? = nil,
    arg0Namespace: String? = nil, installed: ((BusError?) -> Void)? = nil,
    handler: @escaping (Message) throws(BusError) -> Void
  ) throws(SystemdError) -> BusSlot {
    var rule = "type='signal'"
    let parts = [
      ("sender", sender), ("path", path), ("interface", interface), ("member", member), ("arg0", arg0),
      ("arg0namespace", arg0Namespace),
    ]
    for (key, value) in parts {
      guard let value else { continue }
      guard !value.utf8.contains(UInt8(ascii: "'")) else {
        throw SystemdError(errno: EINVAL, operation: "match signals with a quote in \(key)")
      }
      rule += ",\(key)='\(value)'"
    }
    // For a rule with a well-known name, sd-bus lets every unique name pass, because it cannot resolve the name.
    let exact = sender.flatMap { $0.hasPrefix(":") || $0 == Self.driverName || $0 == Self.localName ? $0 : nil }
    let box = MatchBox(sender: exact, handler: handler, installed: installed)
    return try BusSlot(box: box, "match signals") { slot, userdata in
      sd_bus_add_match_async(
        pointer, &slot, rule, MatchBox.arrived, installed == nil ? nil : MatchBox.answered, userdata)
    }
  }

  /// Calls `handler` once when the peer that owns `name` (unique or well-known) has left the bus, which may be at once. It is never
  /// called before this function returns.
  public func watchPeer(_ name: String, vanished handler: @escaping () -> Void) throws(SystemdError) -> BusSlot {
    let watch = PeerWatch(name: name, bus: self, handler: handler)
    let slot = try matchSignal(
      sender: Self.driverName, path: Self.driverPath, interface: Self.driverName, member: "NameOwnerChanged",
      arg0: name,
      installed: { error in watch.installed(error) },
      handler: { message throws(BusError) in
        _ = try message.readString()
        _ = try message.readString()
        if try message.readString().isEmpty { watch.vanished() }
      })
    return slot
  }

  /// Asks the bus which process is behind a unique or well-known name.
  public func peerCredentials(
    of name: String, completion: @escaping (Result<PeerCredentials, BusError>) -> Void
  ) throws(BusError) {
    try callDriver("GetConnectionCredentials") {
      $0.appendString(name)
    } reply: { reply in
      completion(reply.reading { message throws(BusError) in try PeerCredentials(name: name, from: message) })
    }
  }

  /// Asks the bus for the unique names of the connections that own a well-known name or wait for it, the owner first.
  public func queuedOwners(
    of name: String, completion: @escaping (Result<[String], BusError>) -> Void
  ) throws(BusError) {
    try callDriver("ListQueuedOwners") {
      $0.appendString(name)
    } reply: { reply in
      if case .failure(let error) = reply, error.isStandard("NameHasNoOwner") { return completion(.success([])) }
      completion(reply.reading { message throws(BusError) in try message.readStrings() })
    }
  }

  /// Asks the bus for the unique name that owns a well-known one; nil without an owner.
  public func nameOwner(
    of name: String, completion: @escaping (Result<String?, BusError>) -> Void
  ) throws(BusError) {
    try callDriver("GetNameOwner") {
      $0.appendString(name)
    } reply: { reply in
      if case .failure(let error) = reply, error.isStandard("NameHasNoOwner") { return completion(.success(nil)) }
      completion(reply.reading { message throws(BusError) in try message.readString() })
    }
  }
}

/// The process behind a connection, as the bus saw it when the connection was made.
public struct PeerCredentials: Equatable, Sendable {
  /// The name that was asked for.
  public let name: String
  /// The user of the process.
  public let uid: UInt32
  /// The process id; nil if the bus cannot tell. A process id may be reused, so it proves nothing after the peer has ended.
  public let pid: Int32?
  /// The process itself, if the bus passes the process on (D-Bus 1.15.8 and later).
  public let process: PassedDescriptor?

  init(name: String, from message: Message) throws(BusError) {
    var uid: UInt32?
    var pid: UInt32?
    var process: PassedDescriptor?
    try message.readDictionary("sv") { (entry: Message) throws(BusError) in
      switch try entry.readString() {
      case "UnixUserID": try entry.readVariant("u") { (value) throws(BusError) in uid = try value.readUInt32() }
      case "ProcessID": try entry.readVariant("u") { (value) throws(BusError) in pid = try value.readUInt32() }
      case "ProcessFD":
        try entry.readVariant("h") { (value) throws(BusError) in
          process = PassedDescriptor(owning: try value.readUnixFD())
        }
      default: try entry.skip()
      }
    }
    guard let uid else { throw .failed("the bus does not know the user of \(name)") }
    self.name = name
    self.uid = uid
    self.pid = pid.flatMap { Int32(exactly: $0) }
    self.process = process
  }
}

/// A descriptor that came with a message; closed with the last reference.
public final class PassedDescriptor: Equatable, Sendable {
  /// The descriptor's number, lent for calls that take one.
  public let number: Int32

  init(owning number: Int32) { self.number = number }

  deinit { close(number) }

  /// Whether both are the same process.
  public static func == (left: PassedDescriptor, right: PassedDescriptor) -> Bool { left === right }
}

private final class MatchBox {
  private let sender: String?
  private let handler: (Message) throws(BusError) -> Void
  private var installed: ((BusError?) -> Void)?

  init(
    sender: String?, handler: @escaping (Message) throws(BusError) -> Void, installed: ((BusError?) -> Void)?
  ) {
    self.sender = sender
    self.handler = handler
    self.installed = installed
  }

  static let arrived: sd_bus_message_handler_t = { message, userdata, _ in
    guard let message, let box = userdata?.box(as: MatchBox.self) else { return 0 }
    if let expected = box.sender {
      guard let sender = sd_bus_message_get_sender(message), strcmp(sender, expected) == 0 else { return 0 }
    }
    let signal = Message(retaining: message)
    // Several matches may read one message: each starts at the message's beginning.
    signal.rewind()
    withExtendedLifetime(box) {
      do throws(BusError) { try box.handler(signal) } catch {}
    }
    return 0
  }

  static let answered: sd_bus_message_handler_t = { message, userdata, _ in
    guard let message, let box = userdata?.box(as: MatchBox.self), let installed = box.installed else { return 0 }
    box.installed = nil
    installed(BusError(message: message))
    return 0
  }
}

/// Waits until a peer has left the bus. It may have left before the bus accepted the match rule.
private final class PeerWatch {
  private let name: String
  private weak var bus: Bus?
  private var handler: (() -> Void)?

  init(name: String, bus: Bus, handler: @escaping () -> Void) {
    self.name = name
    self.bus = bus
    self.handler = handler
  }

  func vanished() {
    let handler = self.handler
    self.handler = nil
    handler?()
  }

  /// A peer that cannot be watched counts as gone, because its objects must not exist longer than the peer.
  func installed(_ error: BusError?) {
    guard error == nil, let bus else { return vanished() }
    do throws(BusError) {
      try bus.nameOwner(of: name) { [weak self] owner in
        if case .success(.some) = owner { return }
        self?.vanished()
      }
    } catch {
      vanished()
    }
  }
}
