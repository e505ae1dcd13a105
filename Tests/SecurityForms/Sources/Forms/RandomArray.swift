// swift-format-ignore-file
import Foundation
import Security

func randomArray() -> [UInt8]? {
  var bytes = [UInt8](repeating: 0, count: 32)
  let status = SecRandomCopyBytes(kSecRandomDefault, bytes.count, &bytes)
  return status == errSecSuccess ? bytes : nil
}
