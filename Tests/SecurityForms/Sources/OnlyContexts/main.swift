import LocalAuthentication

// The same with the other product, which brings the module Security with it.
let context = LAContext()
context.interactionNotAllowed = true
let query: [CFString: Any] = [
  kSecClass: kSecClassInternetPassword, kSecAttrServer: "example.com", kSecUseAuthenticationContext: context,
]
print(SecItemCopyMatching(query as CFDictionary, nil))
