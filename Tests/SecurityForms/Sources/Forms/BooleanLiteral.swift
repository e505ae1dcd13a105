// swift-format-ignore-file
import Foundation
import Security

func booleanLiteral() -> [String: Any] { [kSecReturnAttributes as String: true, kSecAttrIsInvisible as String: false] }
