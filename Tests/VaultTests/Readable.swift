@testable import LatchkeyVault

/// Items that ask for nothing: either their keys are there, or not.
extension Vault {
  func isReadable(_ id: Int64) throws(VaultError) -> Bool { try reader.readability(ofItem: id) == .open }
}

extension FoundItem {
  var isReadable: Bool { readability == .open }
}

extension ItemInfo {
  var isReadable: Bool { readability == .open }
}
