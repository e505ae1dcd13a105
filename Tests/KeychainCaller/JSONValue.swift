import Foundation
import LocalAuthentication
import Security

/// Values of queries and results as JSON. JSON has neither data nor dates, so an object with a single key stands for them, and the
/// key names the type.
enum JSONValue {
  /// The value of a piece of JSON in a line.
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

  /// A line's dictionary.
  static func dictionary(_ json: Any?, _ contexts: [String: LAContext]) throws -> NSDictionary {
    guard let object = json as? [String: Any] else { throw Mistake("a dictionary is missing") }
    return try object.mapValues { try value($0, contexts) } as NSDictionary
  }

  /// The result of a call as JSON.
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

/// The mistake in a line.
struct Mistake: Error {
  let text: String

  init(_ text: String) { self.text = text }
}
