import LatchkeyKeybag

/// Items that ask for the fingers that were enrolled when they were stored (`biometryCurrentSet`). With others such an item is
/// locked until there are just those again.
extension Vault {
  /// Whether an item remembers which fingers were enrolled.
  public func remembersFingers(ofItem id: Int64) throws(VaultError) -> Bool {
    try metadata(try locate(id))?.metadata.asksForFingers ?? false
  }

  /// How the fingers that are enrolled now differ from those that an item remembers; nil for one that remembers none,
  /// or whose label cannot be read now.
  public func changeOfFingers(ofItem id: Int64, to present: FingerSet) throws(VaultError) -> FingerSet.Change? {
    guard let metadata = try metadata(try locate(id))?.metadata, metadata.asksForFingers else { return nil }
    return metadata.fingers?.change(to: present)
  }
}

extension FingerSet.Change {
  /// For a person: why an item is locked, and what to do; nil where it is not.
  public var explanation: String? {
    switch self {
    case .none: nil
    case .otherReaders:
      "there are other fingerprint readers than when it was stored: connect just those again"
    case .noFingers:
      "fprintd reports no enrolled finger: see 'fprintd-list $USER', and enroll the same fingers again with 'fprintd-enroll'"
    case .otherFingers:
      "other fingers are enrolled than when it was stored: have just those again, with 'fprintd-list', 'fprintd-delete' and "
        + "'fprintd-enroll'"
    }
  }
}
