@testable import LatchkeyVault

/// Whether items without requirements can be read, so that only their keys decide.
extension Vault {
  func isReadable(_ id: Int64) throws(VaultError) -> Bool { try reader.readability(ofItem: id) == .open }
}

extension FoundItem {
  var isReadable: Bool { readability == .open }
}

extension ItemInfo {
  var isReadable: Bool { readability == .open }
}
