import Foundation
import LatchkeyKeychain
import LatchkeySecurity
import LatchkeyStandInStore

/// A vault in memory that new keychains use.
struct Vault {
  let store: StandInStore

  init() { store = StandInStore() }

  /// A vault for a program with these access groups.
  init(groups: [String]) { store = StandInStore(groups: groups) }

  private var service: ItemService { ItemService(store: store) }

  /// The four functions of the vault. A closure runs before some of them, and does what another process could do.
  func calls(
    beforeAdd: @escaping @Sendable () -> Void = {}, beforeUpdate: @escaping @Sendable () -> Void = {}
  ) -> ItemCalls {
    let service = service
    return ItemCalls(
      add: {
        beforeAdd()
        return service.add($0, $1)
      },
      copyMatching: { service.copyMatching($0, $1) },
      update: {
        beforeUpdate()
        return service.update($0, $1)
      },
      delete: { service.delete($0) })
  }

  /// A keychain of this vault.
  func keychain(
    _ name: String = "mail", group: String? = nil, accessibility: KeychainItemAccessibility = .whenUnlocked,
    calls: ItemCalls? = nil
  ) -> Keychain {
    ItemCalls.$current.withValue(calls ?? self.calls()) {
      Keychain(service: name, accessGroup: group, accessibility: accessibility)
    }
  }

  /// Adds an item as another program does, by the functions themselves.
  @discardableResult
  func add(_ attributes: [CFString: Any]) -> OSStatus {
    service.add([kSecClass: kSecClassGenericPassword].merging(attributes) { $1 } as CFDictionary, nil)
  }
}

/// The error that a call throws; nil if it throws none.
func thrown<Result>(_ call: () throws(KeychainError) -> Result) -> KeychainError? {
  do {
    _ = try call()
    return nil
  } catch {
    return error
  }
}
