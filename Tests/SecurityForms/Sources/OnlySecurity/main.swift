import Foundation
import Security

// A program that names only one product. The way to the vault comes with the product.
let query: [CFString: Any] = [kSecClass: kSecClassGenericPassword, kSecAttrAccount: "nobody", kSecReturnData: true]
var item: CFTypeRef?
print(SecItemCopyMatching(query as CFDictionary, &item))
