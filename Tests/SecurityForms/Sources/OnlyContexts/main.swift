import LocalAuthentication

// A program that names only the other product, which includes the module Security.
let context = LAContext()
context.interactionNotAllowed = true
let query: [CFString: Any] = [
  kSecClass: kSecClassInternetPassword, kSecAttrServer: "example.com", kSecUseAuthenticationContext: context,
]
print(SecItemCopyMatching(query as CFDictionary, nil))
