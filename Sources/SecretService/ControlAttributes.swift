import Keybag
import Vault

/// The attributes `latchkey:…`, by which any Secret Service client can say what the interface has no words for. They
/// are taken out of an item's attributes before anything else looks at them.
struct ControlAttributes: Equatable {
  private static let accessibleName = "latchkey:accessible"

  /// The class that was named.
  private(set) var accessibility: AccessibilityClass?
  /// The item's own attributes.
  private(set) var attributes: [String: String] = [:]

  /// Takes `all` apart.
  ///
  /// - Throws: ``VaultError/unknownControlAttribute``, ``VaultError/unknownClass``.
  init(_ all: [String: String]) throws(VaultError) {
    for (name, value) in all {
      guard name.hasPrefix(ItemMetadata.reservedPrefix) else {
        attributes[name] = value
        continue
      }
      guard name == ControlAttributes.accessibleName else { throw .unknownControlAttribute }
      guard let named = AccessibilityClass(name: value) else { throw .unknownClass }
      accessibility = named
    }
  }

  /// Whether the search is for a class alone. Its answer lists every item as one that has to be unlocked first: clients
  /// that act on all results of a search at once, as `secret-tool clear`, act only on those that are not, so that a class
  /// name cannot empty the vault by mistake.
  var isForClassAlone: Bool { attributes.isEmpty && accessibility != nil }

  /// What a search with these attributes is for: control attributes count only where they stand alone, so that a
  /// client which searches with all that it stored still finds its item after its class changed.
  var query: ItemQuery {
    if isForClassAlone, let accessibility { return .accessibility(accessibility) }
    return .attributes(attributes)
  }
}
