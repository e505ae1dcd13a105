import Foundation
import Security

// A program that names one product: the way to the vault comes with it.
let query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "nobody", kSecReturnData: true]
var item: CFTypeRef?
print(SecItemCopyMatching(query as CFDictionary, &item))
