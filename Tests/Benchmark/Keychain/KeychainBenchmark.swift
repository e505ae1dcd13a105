// Measures the SecItem functions. Prints one line for each sample: its name and nanoseconds. See ../secitem.py.
//
//   keychain-benchmark fill ITEMS                     adds this many items
//   keychain-benchmark measure REPETITIONS ITEMS      reads one item; adds, updates and deletes another
//
// Before each call, the program pings the vault directly through libsystemd, which the calls use too.

import CLatchkeySystemd
import Foundation
import Security

@main
enum KeychainBenchmark {
  private static let service = "benchmark"
  private static let warmUp = 5

  static func main() {
    let words = CommandLine.arguments
    let numbers = words.dropFirst(2).compactMap { Int($0) }
    switch (words.dropFirst().first, numbers.count) {
    case ("fill", 1):
      for number in 0..<numbers[0] { add(kept(number), "benchmark \(number)") }
    case ("measure", 2):
      measure(repetitions: numbers[0], items: numbers[1])
    default:
      fail("usage: keychain-benchmark fill ITEMS | measure REPETITIONS ITEMS", 64)
    }
  }

  private static func measure(repetitions: Int, items: Int) {
    let ping = Ping()
    for turn in -warmUp..<repetitions {
      let samples: [(String, () -> Void)] = [
        ("copy", { read(kept(.random(in: 0..<items))) }),
        ("add", { add("new", "one value") }),
        ("update", { update("new", "another value") }),
        ("delete", { delete("new") }),
      ]
      for (name, call) in samples {
        let pinged = nanoseconds(ping.send)
        let called = nanoseconds(call)
        if turn >= 0 { print("ping", pinged, "\n\(name)", called) }
      }
    }
  }

  private static func nanoseconds(_ body: () -> Void) -> Int64 {
    let taken = ContinuousClock().measure(body).components
    return taken.seconds * 1_000_000_000 + taken.attoseconds / 1_000_000_000
  }

  // MARK: - calls

  private static func kept(_ number: Int) -> String { "account \(number)" }

  private static func key(_ account: String) -> [String: Any] {
    [
      kSecClass as String: kSecClassGenericPassword,
      kSecAttrService as String: service,
      kSecAttrAccount as String: account,
    ]
  }

  private static func add(_ account: String, _ value: String) {
    var item = key(account)
    item[kSecValueData as String] = padded(value)
    check(SecItemAdd(item as CFDictionary, nil), "SecItemAdd")
  }

  private static func read(_ account: String) {
    var query = key(account)
    query[kSecReturnData as String] = true
    var found: CFTypeRef?
    check(SecItemCopyMatching(query as CFDictionary, &found), "SecItemCopyMatching")
    guard let data = found as? Data, data.count == 32 else { fail("not what was added") }
  }

  private static func update(_ account: String, _ value: String) {
    let changes: [String: Any] = [kSecValueData as String: padded(value)]
    check(SecItemUpdate(key(account) as CFDictionary, changes as CFDictionary), "SecItemUpdate")
  }

  private static func delete(_ account: String) { check(SecItemDelete(key(account) as CFDictionary), "SecItemDelete") }

  /// Pads the secret to 32 bytes.
  private static func padded(_ value: String) -> Data {
    var data = Data(value.utf8)
    data.append(contentsOf: repeatElement(UInt8(ascii: "."), count: 32 - data.count))
    return data
  }

  private static func check(_ status: OSStatus, _ call: String) {
    if status != errSecSuccess { fail("\(call): \(status)") }
  }
}

/// A bare call to the vault, and its answer.
private final class Ping {
  private var bus: OpaquePointer?

  init() {
    if sd_bus_open_user(&bus) < 0 { fail("no session bus") }
  }

  deinit { sd_bus_flush_close_unref(bus) }

  func send() {
    var call: OpaquePointer?
    var answer: OpaquePointer?
    defer {
      sd_bus_message_unref(call)
      sd_bus_message_unref(answer)
    }
    let made = sd_bus_message_new_method_call(
      bus, &call, "org.freedesktop.secrets", "/org/freedesktop/secrets", "org.freedesktop.DBus.Peer", "Ping")
    if made < 0 || sd_bus_call(bus, call, 0, nil, &answer) < 0 { fail("no answer to a ping") }
  }
}

private func fail(_ message: String, _ code: Int32 = 1) -> Never {
  FileHandle.standardError.write(Data("keychain-benchmark: \(message)\n".utf8))
  exit(code)
}
