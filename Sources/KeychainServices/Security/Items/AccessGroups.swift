/// The access groups of a program. New items that name no group get the first one.
package struct AccessGroups: Hashable, Sendable {
  /// The names of the groups, in order.
  package let names: [String]
  /// The reason, if there are no groups.
  private let absence: FailureCause

  package init(_ names: [String], absence: FailureCause = .noGroup) {
    self.names = names
    self.absence = absence
  }

  /// The group of a new item.
  ///
  /// - Throws: `errSecMissingEntitlement` if the program does not belong to the group, or has no groups.
  func groupForNewItem(named name: String?) throws(ItemFailure) -> String {
    guard let first = names.first else { throw ItemFailure(errSecMissingEntitlement, absence) }
    let chosen = name ?? first
    guard names.contains(chosen) else { throw ItemFailure(errSecMissingEntitlement, .undeclaredGroup) }
    return chosen
  }

  /// The groups of a search.
  ///
  /// - Throws: `errSecMissingEntitlement` in the same cases as for new items.
  func groupsForSearch(named name: String?) throws(ItemFailure) -> [String] {
    guard let name else {
      guard !names.isEmpty else { throw ItemFailure(errSecMissingEntitlement, absence) }
      return names
    }
    return [try groupForNewItem(named: name)]
  }
}
