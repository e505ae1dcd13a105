import Foundation
import LatchkeyStandInStore

@testable import LatchkeySecurity

/// The four calls, with a stand-in for the store.
struct Keychain {
  let store: StandInStore
  private let service: ItemService

  init(groups: [String] = ["TEAM.app", "TEAM.shared"]) {
    store = StandInStore(groups: groups)
    service = ItemService(store: store)
  }

  func add(_ query: [CFString: Any]) -> OSStatus { service.add(query as CFDictionary, nil) }

  func adding(_ query: [CFString: Any]) -> AnyObject? {
    var result: AnyObject?
    return service.add(query as CFDictionary, &result) == errSecSuccess ? result : nil
  }

  func find(_ query: [CFString: Any]) -> (status: OSStatus, result: AnyObject?) {
    var result: AnyObject?
    let status = service.copyMatching(query as CFDictionary, &result)
    return (status, result)
  }

  func status(_ query: [CFString: Any]) -> OSStatus { service.copyMatching(query as CFDictionary, nil) }

  func update(_ query: [CFString: Any], _ changes: [CFString: Any]) -> OSStatus {
    service.update(query as CFDictionary, changes as CFDictionary)
  }

  func delete(_ query: [CFString: Any]) -> OSStatus { service.delete(query as CFDictionary) }

  /// The query of a generic password, with further values.
  static func password(_ account: Any = "anna", _ more: [CFString: Any] = [:]) -> [CFString: Any] {
    let query: [CFString: Any] = [
      kSecClass: kSecClassGenericPassword, kSecAttrService: "mail", kSecAttrAccount: account,
    ]
    return query.merging(more) { _, new in new }
  }
}
