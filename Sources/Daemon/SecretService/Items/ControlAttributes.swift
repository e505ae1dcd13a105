import LatchkeyKeybag
import LatchkeyVault

/// The attributes `latchkey:…`, by which any Secret Service client can use functions that the interface lacks. They are taken
/// out of an item's attributes before anything else looks at them.
struct ControlAttributes: Equatable {
  private static let accessibleName = "latchkey:accessible"
  private static let requireName = "latchkey:require"

  /// The class that was named.
  private(set) var accessibility: AccessibilityClass?
  /// The access control that was named.
  private(set) var access: AccessControl?
  /// The item's own attributes.
  private(set) var attributes: [String: String] = [:]

  /// Splits `all`.
  ///
  /// - Throws: ``VaultError/unknownControlAttribute``, ``VaultError/unknownClass``, ``VaultError/badAccessControl(_:)``.
  init(_ all: [String: String]) throws(VaultError) {
    for (name, value) in all {
      guard name.hasPrefix(ItemMetadata.reservedPrefix) else {
        attributes[name] = value
        continue
      }
      switch name {
      case ControlAttributes.accessibleName:
        guard let named = AccessibilityClass(name: value) else { throw .unknownClass }
        accessibility = named
      case ControlAttributes.requireName:
        do throws(AccessControl.Mistake) { access = try AccessControl(text: value) } catch {
          throw .badAccessControl(error)
        }
      default: throw .unknownControlAttribute
      }
    }
  }

  /// Reads the values from another place than the attributes; nil for a missing value.
  init(accessible: String?, require: String?) throws(VaultError) {
    var all: [String: String] = [:]
    all[ControlAttributes.accessibleName] = accessible
    all[ControlAttributes.requireName] = require
    try self.init(all)
  }

  /// Whether the search is for a class or access control alone. A search for these alone lists every item as locked. Clients such
  /// as `secret-tool clear` act on all unlocked results at once, so a class name cannot empty the vault by mistake.
  var isForControlAlone: Bool { attributes.isEmpty && (accessibility != nil || access != nil) }

  /// The search that these attributes mean. Control attributes count only if there are no other attributes. So a client that
  /// searches with all attributes that it stored still finds its item after its class has changed.
  var query: SearchTerms {
    guard isForControlAlone else { return .attributes(attributes) }
    if let access { return .access(access, accessibility) }
    if let accessibility { return .accessibility(accessibility) }
    return .attributes(attributes)
  }
}
