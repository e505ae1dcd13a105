// swift-format-ignore-file
import Foundation
import Security

enum ConstantInEnum {
  case unlocked, afterFirstUnlock, always

  var raw: CFString {
    switch self {
    case .unlocked: kSecAttrAccessibleWhenUnlocked
    case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlock
    case .always: kSecAttrAccessibleAlways
    }
  }
}
