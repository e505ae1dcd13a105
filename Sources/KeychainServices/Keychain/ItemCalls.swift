package import LatchkeySecurity

/// The four functions of the module Security.
///
/// They are a value, so that tests can replace them by functions that use a vault in memory.
package struct ItemCalls: Sendable {
  package typealias Adding = @Sendable (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus
  package typealias Copying = @Sendable (CFDictionary, UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus
  package typealias Updating = @Sendable (CFDictionary, CFDictionary) -> OSStatus
  package typealias Deleting = @Sendable (CFDictionary) -> OSStatus

  let add: Adding
  let copyMatching: Copying
  let update: Updating
  let delete: Deleting

  package init(
    add: @escaping Adding = { SecItemAdd($0, $1) }, copyMatching: @escaping Copying = { SecItemCopyMatching($0, $1) },
    update: @escaping Updating = { SecItemUpdate($0, $1) }, delete: @escaping Deleting = { SecItemDelete($0) }
  ) {
    self.add = add
    self.copyMatching = copyMatching
    self.update = update
    self.delete = delete
  }

  /// The functions that a new ``Keychain`` calls.
  @TaskLocal package static var current = ItemCalls()
}
