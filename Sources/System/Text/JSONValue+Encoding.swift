extension JSONValue {
  /// The value, encoded by its type.
  public init(_ value: some Encodable) throws { self = try ValueBox(value).value }
}

/// A value that is being written, through the containers that its type requests.
private final class ValueBox {
  private enum Content {
    case single(JSONValue)
    case array([ValueBox])
    case object([String: ValueBox])
  }

  private var content: Content?

  init() {}

  init<Value: Encodable>(_ value: Value) throws {
    switch value {
    case let value as Bool: set(.bool(value))
    case let value as String: set(.string(value))
    case let value as any BinaryInteger: set(.number(value.description))
    case let value as any BinaryFloatingPoint:
      let number = Double(value)
      guard number.isFinite else {
        throw EncodingError.invalidValue(value, .init(codingPath: [], debugDescription: "JSON has finite numbers only"))
      }
      set(.number(number.description))
    default: try value.encode(to: ValueEncoder(box: self))
    }
  }

  /// A type that encodes nothing is an object without entries.
  var value: JSONValue {
    switch content {
    case .single(let value): value
    case .array(let boxes): .array(boxes.map(\.value))
    case .object(let boxes): .object(boxes.mapValues(\.value))
    case nil: .object([:])
    }
  }

  var count: Int { if case .array(let boxes) = content { boxes.count } else { 0 } }

  func set(_ value: JSONValue) { content = .single(value) }

  func take(_ other: ValueBox) { content = other.content }

  func beginArray() { if case .array = content {} else { content = .array([]) } }

  func beginObject() { if case .object = content {} else { content = .object([:]) } }

  func append(_ box: ValueBox) {
    guard case .array(var boxes) = content else { return }
    boxes.append(box)
    content = .array(boxes)
  }

  func set(_ box: ValueBox, for name: String) {
    guard case .object(var boxes) = content else { return }
    content = nil
    boxes[name] = box
    content = .object(boxes)
  }
}

private struct ValueEncoder: Encoder {
  let box: ValueBox
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    box.beginObject()
    return KeyedEncodingContainer(ObjectWriter<Key>(box: box))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    box.beginArray()
    return ArrayWriter(box: box)
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { SingleWriter(box: box) }
}

private struct SingleWriter: SingleValueEncodingContainer {
  let box: ValueBox
  var codingPath: [any CodingKey] { [] }

  func encodeNil() { box.set(.null) }
  func encode<Value: Encodable>(_ value: Value) throws { box.take(try ValueBox(value)) }
}

private struct ArrayWriter: UnkeyedEncodingContainer {
  let box: ValueBox
  var codingPath: [any CodingKey] { [] }
  var count: Int { box.count }

  private func added() -> ValueBox {
    let new = ValueBox()
    box.append(new)
    return new
  }

  func encodeNil() { added().set(.null) }
  func encode<Value: Encodable>(_ value: Value) throws { box.append(try ValueBox(value)) }

  func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    ValueEncoder(box: added()).container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { ValueEncoder(box: added()).unkeyedContainer() }
  func superEncoder() -> any Encoder { ValueEncoder(box: added()) }
}

private struct ObjectWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let box: ValueBox
  var codingPath: [any CodingKey] { [] }

  private func added(_ name: String) -> ValueBox {
    let new = ValueBox()
    box.set(new, for: name)
    return new
  }

  func encodeNil(forKey key: Key) { added(key.stringValue).set(.null) }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    box.set(try ValueBox(value), for: key.stringValue)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> {
    ValueEncoder(box: added(key.stringValue)).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    ValueEncoder(box: added(key.stringValue)).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { ValueEncoder(box: added("super")) }
  func superEncoder(forKey key: Key) -> any Encoder { ValueEncoder(box: added(key.stringValue)) }
}
