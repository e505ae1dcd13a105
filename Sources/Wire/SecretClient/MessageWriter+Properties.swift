import LatchkeySystemd

extension MessageWriter {
  /// Appends the properties of an item (`a{sv}`), as `CreateItem` of the Secret Service and `org.latchkey.Keychain` expect them.
  /// Leaves out properties that are nil.
  ///
  /// - Parameter times: the moments at which the item was stored and changed elsewhere, as `Created` and `Modified`. Providers
  ///   other than Latchkey ignore them.
  package mutating func appendItemProperties(
    label: String?, attributes: [String: String]?, times: [String: UInt64] = [:]
  ) {
    appendDictionary("sv") { all in
      if let label {
        all.appendProperty("\(ServiceConnection.item).Label", "s") { $0.appendString(label) }
      }
      if let attributes {
        all.appendProperty("\(ServiceConnection.item).Attributes", "a{ss}") { $0.appendStringDictionary(attributes) }
      }
      for (name, time) in times {
        all.appendProperty("\(ServiceConnection.itemAccess).\(name)", "t") { $0.appendUInt64(time) }
      }
    }
  }
}
