import Foundation
import LocalAuthentication
import Security
import Synchronization

/// Makes the calls that one line of input names.
struct Caller: Sendable {
  private let contexts: Contexts

  init() { contexts = Contexts() }

  /// The answer to a line.
  func answer(_ line: [String: Any]) throws -> [String: Any] {
    switch line["call"] as? String {
    case "add":
      let query = try dictionary(line["query"])
      return try result { SecItemAdd(query, $0) }
    case "copy":
      let query = try dictionary(line["query"])
      return try result { SecItemCopyMatching(query, $0) }
    case "update": return ["status": SecItemUpdate(try dictionary(line["query"]), try dictionary(line["changes"]))]
    case "delete": return ["status": SecItemDelete(try dictionary(line["query"]))]
    case "message":
      guard let status = line["status"] as? Int else { throw Mistake("the status is missing") }
      return ["text": SecCopyErrorMessageString(OSStatus(status), nil) as String? ?? ""]
    case "context":
      try contexts.make(line)
      return [:]
    case "invalidate":
      contexts.named["\(line["name"] ?? "")"]?.invalidate()
      return [:]
    case "together": return ["results": try together(lists(line["calls"]))]
    case "loop":
      let results = try together(lists(line["calls"]), besides: lists([line["inside"] ?? []])[0])
      return ["results": results.0, "inside": results.1]
    case "fork": return ["results": try fork(lists([line["calls"] ?? []])[0])]
    default: throw Mistake("no such call")
    }
  }

  private func dictionary(_ json: Any?) throws -> NSDictionary { try JSONValue.dictionary(json, contexts.named) }

  private func lists(_ json: Any?) throws -> [[[String: Any]]] {
    guard let lists = json as? [[[String: Any]]] else { throw Mistake("calls are missing") }
    return lists
  }

  private func result(_ call: (UnsafeMutablePointer<CFTypeRef?>) -> OSStatus) throws -> [String: Any] {
    var object: CFTypeRef?
    let status = call(&object)
    return ["status": status, "result": try JSONValue.json(object)]
  }

  /// Runs all lists at the same time, each on its own thread.
  private func together(_ lists: [[[String: Any]]]) throws -> [Any] {
    let answers = Mutex<[Int: Data]>([:])
    let lines = try lists.map { try JSONSerialization.data(withJSONObject: $0) }
    DispatchQueue.concurrentPerform(iterations: lines.count) { index in
      let answer = Caller.answers(to: lines[index], by: self)
      answers.withLock { $0[index] = answer }
    }
    return try answers.withLock { all in
      try lines.indices.map { try JSONSerialization.jsonObject(with: all[$0] ?? Data()) }
    }
  }

  /// Runs the lists on threads while a handler of GLib's main loop runs another list.
  private func together(_ lists: [[[String: Any]]], besides list: [[String: Any]]) throws -> ([Any], Any) {
    let line = try JSONSerialization.data(withJSONObject: list)
    var inside = Data()
    let results = Mutex<Result<Data, any Error>?>(nil)
    let crowd = DispatchGroup()
    let lines = try JSONSerialization.data(withJSONObject: lists)
    try GLibLoop.run {
      DispatchQueue.global().async(group: crowd) {
        let done = Result {
          let lists = try JSONSerialization.jsonObject(with: lines) as? [[[String: Any]]] ?? []
          return try JSONSerialization.data(withJSONObject: try together(lists))
        }
        results.withLock { $0 = done }
      }
      inside = Caller.answers(to: line, by: self)
    }
    crowd.wait()
    guard let done = try results.withLock({ $0 })?.get() else { throw Mistake("no results") }
    let all = try JSONSerialization.jsonObject(with: done) as? [Any] ?? []
    return (all, try JSONSerialization.jsonObject(with: inside))
  }

  /// Runs the list in a forked child, which has a copy of this process's memory.
  private func fork(_ list: [[String: Any]]) throws -> Any {
    let lines = try JSONSerialization.data(withJSONObject: list)
    let pipe = Pipe()
    let child = Glibc.fork()
    guard child >= 0 else { throw Mistake("no child") }
    if child == 0 {
      pipe.fileHandleForWriting.write(Caller.answers(to: lines, by: self))
      _exit(0)
    }
    try pipe.fileHandleForWriting.close()
    let answers = pipe.fileHandleForReading.readDataToEndOfFile()
    var status: Int32 = 0
    waitpid(child, &status, 0)
    guard status == 0 else { throw Mistake("the child ended with \(status)") }
    return try JSONSerialization.jsonObject(with: answers)
  }

  /// Lines and answers are data, because threads and processes pass nothing else.
  private static func answers(to lines: Data, by caller: Caller) -> Data {
    do {
      let calls = try JSONSerialization.jsonObject(with: lines) as? [[String: Any]] ?? []
      return try JSONSerialization.data(withJSONObject: try calls.map { try caller.answer($0) })
    } catch { return Data("[{\"mistake\": \"\(error)\"}]".utf8) }
  }
}

/// The contexts that lines have created, by name.
final class Contexts: Sendable {
  private let made = Mutex<[String: LAContext]>([:])

  var named: [String: LAContext] { made.withLock { $0 } }

  func make(_ line: [String: Any]) throws {
    let context = LAContext()
    context.localizedReason = line["reason"] as? String ?? ""
    context.interactionNotAllowed = line["silent"] as? Bool ?? false
    context.touchIDAuthenticationAllowableReuseDuration = line["reuse"] as? Double ?? 0
    if let text = line["passphrase"] as? String {
      context.setCredential(try JSONValue.data(text), type: .applicationPassword)
    }
    made.withLock { $0["\(line["name"] ?? "")"] = context }
  }
}
