extension JSONValue {
  /// The value, decoded by its type.
  public func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
    switch type {
    case is Bool.Type:
      if case .bool(let value) = self, let value = value as? Value { return value }
    case is String.Type:
      if case .string(let value) = self, let value = value as? Value { return value }
    case let type as any FixedWidthInteger.Type:
      if let value = integer(type) as? Value { return value }
    case is Double.Type:
      if case .number(let text) = self, let value = Double(text) as? Value { return value }
    default: return try Value(from: ValueDecoder(value: self))
    }
    throw Self.mismatch(type)
  }

  private func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
    if case .number(let text) = self { Integer(text) } else { nil }
  }

  fileprivate static func mismatch(_ type: Any.Type) -> DecodingError {
    .typeMismatch(type, .init(codingPath: [], debugDescription: "the value of JSON is of another kind"))
  }
}

private struct ValueDecoder: Decoder {
  let value: JSONValue
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    guard case .object(let values) = value else { throw JSONValue.mismatch([String: JSONValue].self) }
    return KeyedDecodingContainer(ObjectFields<Key>(values: values))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    guard case .array(let values) = value else { throw JSONValue.mismatch([JSONValue].self) }
    return ArrayElements(values: values)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { SingleField(value: value) }
}

private struct SingleField: SingleValueDecodingContainer {
  let value: JSONValue
  var codingPath: [any CodingKey] { [] }

  func decodeNil() -> Bool { value == .null }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try value.decoded(as: type) }
}

private struct ArrayElements: UnkeyedDecodingContainer {
  let values: [JSONValue]
  private(set) var currentIndex = 0
  var codingPath: [any CodingKey] { [] }
  var count: Int? { values.count }
  var isAtEnd: Bool { currentIndex == values.count }

  init(values: [JSONValue]) { self.values = values }

  private mutating func next() throws -> JSONValue {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        JSONValue.self, .init(codingPath: [], debugDescription: "the array of JSON has no more values"))
    }
    defer { currentIndex += 1 }
    return values[currentIndex]
  }

  mutating func decodeNil() throws -> Bool {
    guard !isAtEnd, values[currentIndex] == .null else { return false }
    currentIndex += 1
    return true
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try next().decoded(as: type) }

  mutating func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try ValueDecoder(value: next()).container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try ValueDecoder(value: next()).unkeyedContainer()
  }

  mutating func superDecoder() throws -> any Decoder { ValueDecoder(value: try next()) }
}

private struct ObjectFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let values: [String: JSONValue]
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { values.keys.compactMap { Key(stringValue: $0) } }

  private func value(_ name: String) throws -> JSONValue {
    guard let value = values[name] else {
      throw DecodingError.valueNotFound(
        JSONValue.self, .init(codingPath: [], debugDescription: "the object of JSON has no '\(name)'"))
    }
    return value
  }

  func contains(_ key: Key) -> Bool { values[key.stringValue] != nil }
  func decodeNil(forKey key: Key) throws -> Bool { try value(key.stringValue) == .null }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try value(key.stringValue).decoded(as: type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try ValueDecoder(value: value(key.stringValue)).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try ValueDecoder(value: value(key.stringValue)).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { ValueDecoder(value: try value("super")) }
  func superDecoder(forKey key: Key) throws -> any Decoder { ValueDecoder(value: try value(key.stringValue)) }
}
