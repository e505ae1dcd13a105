// swift-format-ignore-file
import Foundation
import Security

func booleanAsAny() -> [String: Any] { [kSecReturnData as String: kCFBooleanTrue as Any, kSecReturnAttributes as String: kCFBooleanFalse as Any] }
