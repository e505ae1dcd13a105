// swift-format-ignore-file
import Foundation
import Security

protocol ConstantClass {
  static var itemClass: CFString { get }
}

struct ConstantGeneric: ConstantClass {
  static var itemClass: CFString { kSecClassGenericPassword }
}

func constantInProtocol<T: ConstantClass>(_: T.Type) -> OSStatus { SecItemDelete([kSecClass: T.itemClass] as CFDictionary) }
