import Foundation
import LatchkeyItemProtection
import Testing

@testable import LatchkeySecurity

@Suite("Access control of items")
struct AccessControlTests {
  private let keychain = Keychain()

  private func made(
    _ flags: SecAccessControlCreateFlags, _ protection: AnyObject = kSecAttrAccessibleWhenUnlocked
  ) -> SecAccessControl? {
    var error: Unmanaged<CFError>?
    let access = SecAccessControlCreateWithFlags(kCFAllocatorDefault, protection, flags, &error)
    let cause = error?.takeRetainedValue()
    #expect((access == nil) == (cause != nil))
    if let cause {
      #expect(CFErrorGetCode(cause) == CFIndex(errSecParam))
      #expect(CFErrorGetDomain(cause) as String == NSOSStatusErrorDomain)
      #expect(!cause.localizedDescription.isEmpty)
    }
    return access
  }

  @Test(
    "Valid combinations of flags",
    arguments: [
      [], .userPresence, [.userPresence, .applicationPassword], [.userPresence, .privateKeyUsage],
      [.userPresence, .applicationPassword, .privateKeyUsage], .biometryAny, .biometryCurrentSet, .devicePasscode,
      .watch, .applicationPassword, .privateKeyUsage, [.biometryAny, .or, .devicePasscode],
      [.biometryCurrentSet, .and, .devicePasscode, .applicationPassword], [.biometryAny, .or, .watch], .or, .and,
      [.biometryAny, .devicePasscode],
    ] as [SecAccessControlCreateFlags])
  func valid(flags: SecAccessControlCreateFlags) {
    #expect(made(flags) != nil)
  }

  @Test(
    "Invalid combinations of flags",
    arguments: [
      [.or, .and], [.biometryAny, .or, .and, .devicePasscode], [.biometryAny, .biometryCurrentSet],
      [.userPresence, .biometryAny], [.userPresence, .biometryCurrentSet], [.userPresence, .devicePasscode],
      [.userPresence, .watch], [.userPresence, .or], [.userPresence, .and], .init(rawValue: 1 << 2),
      .init(rawValue: 1 << 40), [.userPresence, .init(rawValue: 1 << 20)],
    ] as [SecAccessControlCreateFlags])
  func invalid(flags: SecAccessControlCreateFlags) {
    #expect(made(flags) == nil)
    #expect(SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleWhenUnlocked, flags, nil) == nil)
  }

  @Test("Every accessibility is accepted, and nothing else")
  func protections() {
    let all = [
      kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly, kSecAttrAccessibleWhenUnlocked,
      kSecAttrAccessibleWhenUnlockedThisDeviceOnly, kSecAttrAccessibleAfterFirstUnlock,
      kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly, kSecAttrAccessibleAlways,
      kSecAttrAccessibleAlwaysThisDeviceOnly,
    ]
    for protection in all { #expect(made([], protection)?.accessible.constant == protection as String) }
    for other in ["", "AK", "f", "when-unlocked"] { #expect(made([], other as NSString) == nil) }
    #expect(made([], NSNumber(value: 6)) == nil)
    #expect(made([], NSNull()) == nil)
  }

  @Test("Access control from the vault means the same as the stored access control")
  func kept() throws {
    let access = try #require(made([.biometryCurrentSet, .or, .devicePasscode, .applicationPassword]))
    let query = Keychain.password("anna", [kSecAttrAccessControl: access, kSecReturnAttributes: true])
    let result = try #require(keychain.adding(query) as? [String: Any])
    let kept = try #require(keychain.store.items.first?.protection)
    #expect(kept.accessible == .whenUnlocked)
    #expect(kept.control.conditions == [.biometryCurrentSet, .devicePasscode])
    #expect(kept.control.combination == .any)
    #expect(kept.control.needsPassphrase)
    #expect(result["accc"] as? SecAccessControl == access)
    #expect(result["pdmn"] as? String == "ak")
    #expect((result["accc"] as? SecAccessControl)?.hash == access.hash)
    #expect(access != made([.biometryCurrentSet, .or, .devicePasscode]))
    // A search ignores the access control, as on Apple's systems.
    #expect(
      keychain.status(Keychain.password("anna", [kSecAttrAccessControl: try #require(made([]))])) == errSecSuccess)
  }

  @Test("Flags that a password cannot have are refused when the item is stored")
  func refused() throws {
    func add(_ account: String, _ flags: SecAccessControlCreateFlags) throws -> OSStatus {
      keychain.add(Keychain.password(account, [kSecAttrAccessControl: try #require(made(flags))]))
    }
    #expect(try add("key", .privateKeyUsage) == errSecParam)
    #expect(try add("key", [.userPresence, .privateKeyUsage]) == errSecParam)
    #expect(try add("watch", .watch) == errSecUnimplemented)
    #expect(try add("watch", [.watch, .or]) == errSecUnimplemented)
    #expect(try add("watch", [.watch, .devicePasscode]) == errSecUnimplemented)
    #expect(keychain.store.items.isEmpty)
    #expect(try add("watch", [.watch, .or, .biometryAny]) == errSecSuccess)
    #expect(try add("or", [.or, .applicationPassword]) == errSecSuccess)
    #expect(try add("and", .and) == errSecSuccess)
    let bits = keychain.store.items.map(\.protection.control.rawValue)
    #expect(bits == [1 << 1 | 1 << 14, 1 << 31, 0])
  }
}
