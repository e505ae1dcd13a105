import CLatchkeySystemd

/// A D-Bus interface that a service offers: its description for introspection, and its handlers.
public struct ObjectInterface {
  /// The interface's D-Bus name.
  public let name: String
  /// The methods.
  public let methods: [Method]
  /// The properties.
  public let properties: [Property]
  /// The signals that the interface may emit; `Bus.emitSignal` sends them.
  public let signals: [Signal]

  /// Declares an interface; see the members.
  public init(_ name: String, methods: [Method] = [], properties: [Property] = [], signals: [Signal] = []) {
    self.name = name
    self.methods = methods
    self.properties = properties
    self.signals = signals
  }

  /// One argument: one complete type, and its name for introspection.
  public struct Argument: Equatable, Sendable {
    /// A complete type: its signature.
    public let type: String
    /// The argument's D-Bus name.
    public let name: String
    /// Declares an argument; see the members.
    public init(_ type: String, _ name: String) {
      self.type = type
      self.name = name
    }
  }

  /// Annotations of a method or signal.
  public struct MemberFlags: OptionSet, Sendable {
    /// The bits, for this process only.
    public let rawValue: UInt32
    /// Makes a set from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Introspection shows that the member is deprecated.
    public static let deprecated = MemberFlags(rawValue: 1)
    /// Introspection does not show the member.
    public static let hidden = MemberFlags(rawValue: 2)
    /// The memory of call and answer is erased when freed.
    public static let sensitive = MemberFlags(rawValue: 4)
    /// No caller expects an answer.
    public static let noReply = MemberFlags(rawValue: 8)
  }

  /// One method.
  public struct Method {
    /// The method's D-Bus name.
    public let name: String
    /// The arguments of a call.
    public let input: [Argument]
    /// The arguments of the method's answer.
    public let output: [Argument]
    /// The method's annotations.
    public let flags: MemberFlags
    /// Answers the call, at once or later; throwing answers with that error. The bus checked the signature.
    public let handler: (MethodCall) throws(BusError) -> Void

    /// Declares a method; see the members.
    public init(
      _ name: String, input: [Argument] = [], output: [Argument] = [], flags: MemberFlags = [],
      handler: @escaping (MethodCall) throws(BusError) -> Void
    ) {
      self.name = name
      self.input = input
      self.output = output
      self.flags = flags
      self.handler = handler
    }
  }

  /// The announcements and annotations of a property.
  public struct PropertyFlags: OptionSet, Sendable {
    /// The bits, for this process only.
    public let rawValue: UInt32
    /// Makes a set from bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// PropertiesChanged carries the new value.
    public static let emitsChange = PropertyFlags(rawValue: 1)
    /// PropertiesChanged carries the name only.
    public static let invalidates = PropertyFlags(rawValue: 2)
    /// The property never changes. This is not for writable properties.
    public static let constant = PropertyFlags(rawValue: 4)
    /// The property is not in the answer to GetAll.
    public static let explicit = PropertyFlags(rawValue: 8)
    /// Introspection shows that the property is deprecated.
    public static let deprecated = PropertyFlags(rawValue: 16)
    /// The memory of messages that carry the property is erased when freed.
    public static let sensitive = PropertyFlags(rawValue: 32)
  }

  /// One property.
  public struct Property {
    /// The property's D-Bus name.
    public let name: String
    /// A complete type: its signature.
    public let type: String
    /// The property's annotations.
    public let flags: PropertyFlags
    /// Appends the value for the object at a path. If it throws, Get fails, and GetAll fails as a whole.
    public let getter: (String, inout MessageWriter) throws(BusError) -> Void
    /// Reads the new value for the object at a path; nil if the property is read-only. The message's sender sets it.
    public let setter: ((String, Message) throws(BusError) -> Void)?

    /// Declares a property; see the members.
    public init(
      _ name: String, _ type: String, flags: PropertyFlags = [],
      getter: @escaping (String, inout MessageWriter) throws(BusError) -> Void,
      setter: ((String, Message) throws(BusError) -> Void)? = nil
    ) {
      self.name = name
      self.type = type
      self.flags = flags
      self.getter = getter
      self.setter = setter
    }
  }

  /// One signal, for introspection.
  public struct Signal {
    /// The signal's D-Bus name.
    public let name: String
    /// The signal's arguments.
    public let arguments: [Argument]
    /// The signal's annotations.
    public let flags: MemberFlags

    /// Declares a signal; see the members.
    public init(_ name: String, _ arguments: [Argument] = [], flags: MemberFlags = []) {
      self.name = name
      self.arguments = arguments
      self.flags = flags
    }
  }
}

extension Bus {
  /// Offers an interface at `prefix` and every path below it for which `exists` says yes. Calls for other paths are answered with
  /// `UnknownObject`, or as ``refuseCalls(below:with:)`` says. The most specific prefix is asked first.
  ///
  /// `exists` is called several times for each call, so it should be as fast as a dictionary. This throws EINVAL if the declaration
  /// is wrong: an invalid name or type, an argument of several types, flags that exclude each other.
  public func export(
    _ interface: ObjectInterface, below prefix: String, where exists: @escaping (String) -> Bool
  ) throws(SystemdError) -> BusSlot {
    let box = ExportedInterface(interface, exists: exists)
    return try BusSlot(box: box, "export \(interface.name)") { slot, userdata in
      sd_bus_add_fallback_vtable(
        pointer, &slot, prefix, interface.name, box.table, ExportedInterface.find, userdata)
    }
  }

  /// Tells introspection which objects are below `prefix`: full paths, for the path that is being looked at.
  public func addNodeEnumerator(
    below prefix: String, _ nodes: @escaping (String) -> [String]
  ) throws(SystemdError) -> BusSlot {
    try BusSlot(box: NodeEnumerator(nodes), "enumerate the objects below \(prefix)") { slot, userdata in
      sd_bus_add_node_enumerator(pointer, &slot, prefix, NodeEnumerator.enumerate, userdata)
    }
  }
}
