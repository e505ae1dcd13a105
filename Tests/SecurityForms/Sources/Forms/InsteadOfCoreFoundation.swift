// swift-format-ignore-file
import Foundation
import Security

// The replacements for Core Foundation's functions from the article Porting.
func insteadOfCoreFoundation(_ result: CFTypeRef, _ error: CFError) -> [Any] {
  let query = NSMutableDictionary()
  query[kSecClass] = kSecClassGenericPassword
  let (array, data, text) = ([1] as CFArray, Data([1, 2]) as CFData, "text" as CFString)
  let mutable: [Any] = [NSMutableArray(), NSMutableData(), NSMutableString(string: ""), NSSet(), NSNull()]
  let counts = [query.count, array.count, data.length, text.hash, Int(data.bytes.load(as: UInt8.self))]
  let kinds = [result is Data, result is CFData, result is SecAccessControl, text == ("text" as CFString)]
  let found: [Any] = [query[kSecClass] as Any, array[0], 5 as CFNumber, error.localizedDescription]
  return mutable + counts + kinds + found + [SecItemDelete(query as CFDictionary)]
}

func accounts() -> [String] {
  let query: [CFString: Any] = [
    kSecClass: kSecClassGenericPassword, kSecMatchLimit: kSecMatchLimitAll, kSecReturnAttributes: true,
  ]
  var result: CFTypeRef?
  guard SecItemCopyMatching(query as CFDictionary, &result) == errSecSuccess else { return [] }
  let items = result as? [[String: Any]] ?? []
  return items.compactMap { $0[kSecAttrAccount as String] as? String }
}
