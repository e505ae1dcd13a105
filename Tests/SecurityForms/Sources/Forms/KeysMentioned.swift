import Foundation
import Security

// Code that keeps passwords on Linux may also have a branch for keys.
func keyMentioned() -> SecKey? {
  let attributes: [CFString: Any] = [
    kSecAttrKeyType: kSecAttrKeyTypeRSA, kSecAttrKeySizeInBits: 2048,
    kSecPrivateKeyAttrs: [kSecAttrIsPermanent: true, kSecAttrApplicationTag: Data("mail".utf8)],
  ]
  var error: Unmanaged<CFError>?
  guard let key = SecKeyCreateRandomKey(attributes as CFDictionary, &error) else {
    _ = error?.takeRetainedValue()
    return nil
  }
  return key
}
