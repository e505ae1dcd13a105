// swift-format-ignore-file
import Foundation
import Security

func randomData(_ count: Int) -> Data? {
  var data = Data(count: count)
  let status = data.withUnsafeMutableBytes { SecRandomCopyBytes(kSecRandomDefault, count, $0.baseAddress!) }
  guard status == errSecSuccess else { return nil }
  return data
}
