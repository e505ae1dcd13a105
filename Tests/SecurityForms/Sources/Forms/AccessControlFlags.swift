// swift-format-ignore-file
import Foundation
import Security

func accessControlFlags(_ strict: Bool) -> SecAccessControl? {
  var flags: SecAccessControlCreateFlags = [.biometryAny]
  if strict { flags.insert(.and) } else { flags.formUnion([.or, .touchIDAny]) }
  flags.insert(.devicePasscode)
  let raw = SecAccessControlCreateFlags(rawValue: flags.rawValue | CFOptionFlags(1 << 31))
  return SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlockedThisDeviceOnly, raw, nil)
}
