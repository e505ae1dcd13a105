// swift-format-ignore-file
import Foundation
import Security

func booleanChosen(_ synchronizable: Bool) -> [String: Any] {
  [kSecAttrSynchronizable as String: synchronizable ? kCFBooleanTrue! : kCFBooleanFalse!]
}
