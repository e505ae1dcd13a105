// swift-format-ignore-file
import Foundation
import Security

func booleanUnwrapped() -> [String: Any] { [kSecClass as String: kSecClassGenericPassword, kSecAttrService as String: "forms", kSecReturnData as String: kCFBooleanTrue!] }
