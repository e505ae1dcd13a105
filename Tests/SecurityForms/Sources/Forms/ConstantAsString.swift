// swift-format-ignore-file
import Foundation
import Security

struct ConstantAsString {
  static let itemClass = kSecClass as String
  static let account = String(kSecAttrAccount)
  static let data = "\(kSecValueData)"
  let any: Any = kSecAttrSynchronizableAny
  let isSame = kSecAttrServer == "srvr" as CFString && kSecAttrServer as String == "srvr"
}
