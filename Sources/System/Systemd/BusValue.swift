/// A type of values on the bus, such as the type of a property, and the way to read a value.
public struct BusValue<Value> {
  let signature: String
  let read: (Message) throws(BusError) -> Value

  /// - Parameter signature: one complete type.
  public init(_ signature: String, _ read: @escaping (Message) throws(BusError) -> Value) {
    (self.signature, self.read) = (signature, read)
  }
}

extension BusValue<String> {
  /// An `s`.
  public static var text: Self { Self("s") { (value) throws(BusError) in try value.readString() } }
  /// An `o`.
  public static var path: Self { Self("o") { (value) throws(BusError) in try value.readObjectPath() } }
}

extension BusValue<Bool> {
  /// A `b`.
  public static var flag: Self { Self("b") { (value) throws(BusError) in try value.readBool() } }
}

extension BusValue<UInt64> {
  /// A `t`.
  public static var number: Self { Self("t") { (value) throws(BusError) in try value.readUInt64() } }
}

extension BusValue<[String]> {
  /// An `as`.
  public static var texts: Self { Self("as") { (value) throws(BusError) in try value.readStrings() } }
  /// An `ao`.
  public static var paths: Self { Self("ao") { (value) throws(BusError) in try value.readObjectPaths() } }
}

extension BusValue<[String: String]> {
  /// An `a{ss}`.
  public static var dictionary: Self {
    Self("a{ss}") { (value) throws(BusError) in try value.readStringDictionary() }
  }
}

extension Message {
  /// Reads a variant that must hold a value of this type.
  public func readVariant<Value>(_ type: BusValue<Value>) throws(BusError) -> Value {
    try readVariant(type.signature, type.read)
  }
}
