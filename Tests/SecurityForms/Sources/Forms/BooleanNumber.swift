// swift-format-ignore-file
import Foundation
import Security

func booleanNumber() -> [String: AnyObject] { [kSecReturnData as String: NSNumber(value: true), kSecAttrPort as String: NSNumber(value: 443)] }
