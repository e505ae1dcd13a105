// swift-format-ignore-file
import Foundation
import Security

func accessControlError() throws -> SecAccessControl {
  var error: Unmanaged<CFError>?
  guard let access = SecAccessControlCreateWithFlags(kCFAllocatorDefault, kSecAttrAccessibleWhenUnlocked, .userPresence, &error) else {
    if let error = error?.takeUnretainedValue() { throw error }
    throw NSError(domain: NSOSStatusErrorDomain, code: Int(errSecParam))
  }
  return access
}
