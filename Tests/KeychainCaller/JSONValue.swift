import Foundation
import LocalAuthentication
import Security

/// Values of queries and results as JSON, which has neither data nor dates: these are objects with one key that says what
/// they are.
enum JSONValue {
  /// What a line says.
  static func value(_ json: Any, _ contexts: [String: LAContext]) throws -> Any {
    guard let object = json as? [String: Any] else { return json }
    if let text = object["data"] as? String { return try data(text) }
    if let count = object["zeros"] as? Int { return Data(count: count) }
    if let seconds = object["date"] as? Double { return Date(timeIntervalSince1970: seconds) }
    if object["null"] != nil { return NSNull() }
    if let name = object["context"] as? String, let context = contexts[name] { return context }
    if let accessible = object["control"] as? String {
      let flags = SecAccessControlCreateFlags(rawValue: object["flags"] as? UInt ?? 0)
      guard let control = SecAccessControlCreateWithFlags(nil, accessible as CFTypeRef, flags, nil) else {
        throw Mistake("flags that do not go together")
      }
      return control
    }
    throw Mistake("\(object) is no value")
  }

  static func data(_ text: String) throws -> Data {
    guard let data = Data(base64Encoded: text) else { throw Mistake("\(text) is no Base64") }
    return data
  }

  /// A dictionary of a line's.
  static func dictionary(_ json: Any?, _ contexts: [String: LAContext]) throws -> NSDictionary {
    guard let object = json as? [String: Any] else { throw Mistake("a dictionary is missing") }
    return try object.mapValues { try value($0, contexts) } as NSDictionary
  }

  /// What a call returned.
  static func json(_ value: Any?) throws -> Any {
    switch value {
    case nil: NSNull()
    case let data as Data: ["data": data.base64EncodedString()]
    case let date as Date: ["date": date.timeIntervalSince1970]
    case let text as String: text
    case let number as NSNumber: number
    case let control as SecAccessControl: ["control": control.description]
    case let array as [Any]: try array.map { try json($0) }
    case let dictionary as [String: Any]: try dictionary.mapValues { try json($0) }
    default: throw Mistake("\(String(describing: value)) is no result")
    }
  }
}

/// What is wrong with a line.
struct Mistake: Error {
  let text: String

  init(_ text: String) { self.text = text }
}
