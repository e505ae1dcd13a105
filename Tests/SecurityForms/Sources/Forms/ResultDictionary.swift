// swift-format-ignore-file
import Foundation
import Security

func resultDictionary(_ result: CFTypeRef?) -> (account: String?, created: Date?, port: Int?, hidden: Bool?) {
  guard let item = result as? [String: Any] else { return (nil, nil, nil, nil) }
  return (
    item[kSecAttrAccount as String] as? String, item[String(kSecAttrCreationDate)] as? Date,
    item[kSecAttrPort as String] as? Int, (item[kSecAttrIsInvisible as String] as? NSNumber)?.boolValue
  )
}
