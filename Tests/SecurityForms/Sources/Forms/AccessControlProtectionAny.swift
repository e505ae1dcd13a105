// swift-format-ignore-file
import Foundation
import Security

func accessControlProtectionAny(_ protection: CFTypeRef) -> Bool {
  SecAccessControlCreateWithFlags(kCFAllocatorDefault, protection, SecAccessControlCreateFlags(), nil) != nil
}
