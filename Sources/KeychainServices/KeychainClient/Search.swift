import LatchkeySecretClient
import LatchkeySecurity
import LatchkeySystemd

/// The items of a search that match.
struct Matches {
  /// An item that matches.
  struct Match {
    /// The item as the vault describes it.
    let found: VaultItem
    /// The item in Apple's form; nil if the vault could not read it.
    let stored: StoredItem?
    /// Whether the item matches for certain. If the vault could not read the item, only the searched attributes are known.
    let isCertain: Bool
  }

  /// The matches, up to the limit. The most recently changed item comes first.
  var all: [Match] = []
  /// The secrets of the matches, by the paths of the items.
  var secrets: [String: Secret] = [:]
  /// Whether a screen locker is up.
  var isScreenLocked = false
}

/// A search for the items of a query.
struct Search {
  /// The purpose of the search.
  enum Purpose: Equatable {
    case copying(secrets: Bool)
    /// Finds all matches.
    case updating
    /// Finds all matches, even locked ones.
    case deleting
  }

  private let query: ItemQuery
  private let groups: AccessGroups
  private let purpose: Purpose
  private let plan: SearchPlan

  init(_ query: ItemQuery, groups: AccessGroups, _ purpose: Purpose) {
    self.query = query
    self.groups = groups
    self.purpose = purpose
    plan = SearchPlan(query, groups: groups)
  }

  private var wantsSecrets: Bool { purpose == .copying(secrets: true) }
  private var maximum: Int? { if case .copying = purpose { query.limit.maximum } else { nil } }

  /// Finds the items. If some are locked, asks the person once to unlock the vault.
  ///
  /// - Throws: `errSecInteractionNotAllowed` if an item stays locked.
  func matches(_ person: Person, on access: VaultAccess) throws(ItemFailure) -> Matches {
    let found = try attempt(person, on: access)
    let locked = found.all.filter(isInTheWay)
    guard !locked.isEmpty else { return found }
    try person.unlock(locked.map(\.found.path), isScreenLocked: found.isScreenLocked)
    let again = try attempt(person, on: access)
    guard !again.all.contains(where: isInTheWay) else { throw ItemFailure(errSecInteractionNotAllowed) }
    return again
  }

  /// Whether the vault must be unlocked before the call can use a match.
  private func isInTheWay(_ match: Matches.Match) -> Bool {
    purpose == .deleting ? !match.isCertain : match.found.state == .locked || match.stored == nil
  }

  private func attempt(_ person: Person, on access: VaultAccess) throws(ItemFailure) -> Matches {
    if let reference = query.reference {
      // The reference belongs to another kind of store, for example in settings that were copied from another system.
      guard reference.identifier.count == VaultItem.identifierSize else { return Matches() }
      let found = try access.with(.reading) { link throws(BusError) in
        try link.read(reference.identifier, secret: wantsSecrets)
      }
      return try select(found, person, on: access)
    }
    // This asks for a few more items than the limit, because not every found item matches. If they are not enough, it asks for all
    // items.
    let limit = maximum.flatMap { UInt32(exactly: $0).map { $0 > UInt32.max - 3 ? 0 : $0 + 3 } } ?? 0
    let found = try find(plan.sets, limit: limit, on: access)
    let selected = try select(found, person, on: access)
    guard limit > 0, found.items.count >= Int(limit), selected.all.count < maximum ?? 0 else { return selected }
    return try select(try find(plan.sets, limit: 0, on: access), person, on: access)
  }

  private func find(
    _ sets: [[String: String]], limit: UInt32, on access: VaultAccess
  ) throws(ItemFailure) -> FoundItems {
    do throws(ItemFailure) {
      return try access.with(.reading) { link throws(BusError) in
        try link.find(sets, limit: limit, secrets: wantsSecrets)
      }
    } catch {
      // The secrets are too large for one message, so the caller reads them one by one.
      guard wantsSecrets, error.status == errSecDataTooLarge else { throw error }
      return try access.with(.reading) { link throws(BusError) in try link.find(sets, limit: limit, secrets: false) }
    }
  }

  // MARK: - which match

  private func select(
    _ found: FoundItems, _ person: Person, on access: VaultAccess
  ) throws(ItemFailure) -> Matches {
    var matches = Matches(secrets: found.secrets, isScreenLocked: found.isScreenLocked)
    let unknown = found.items.contains { !$0.isKnown } ? try Unknown(query, plan, on: access) : nil
    for item in found.items {
      if let maximum, matches.all.count == maximum { break }
      guard let match = match(item, unknown), !isSkipped(item, by: person) else { continue }
      matches.all.append(match)
    }
    return matches
  }

  private func match(_ item: VaultItem, _ unknown: Unknown?) -> Matches.Match? {
    guard item.isKnown else {
      guard let unknown, unknown.mayMatch(item), query.accessible.map({ $0.name == item.accessible }) ?? true else {
        return nil
      }
      return Matches.Match(found: item, stored: nil, isCertain: unknown.isCertain(item))
    }
    guard let stored = item.storedItem(foreignGroup: groups.names.first ?? ""), query.matches(stored) else {
      return nil
    }
    return Matches.Match(found: item, stored: stored, isCertain: true)
  }

  /// Whether the call leaves an item out because it would need a question.
  private func isSkipped(_ item: VaultItem, by person: Person) -> Bool {
    guard item.state == .asking, person.isSkipping, wantsSecrets || purpose == .updating else { return false }
    return !(item.control.map(person.canOpenAlone) ?? false)
  }
}

/// The facts about items that could not be read. The vault returns such items too if they match a set of the search.
private struct Unknown {
  /// The paths of all items that `SecItemAdd` stored in the groups of the search.
  private let own: Set<String>
  /// The paths of all items that `SecItemAdd` stored, in any group.
  private let marked: Set<String>
  private let isExact: Bool

  init(_ query: ItemQuery, _ plan: SearchPlan, on access: VaultAccess) throws(ItemFailure) {
    var sets = plan.own
    var foreign = plan.foreign
    if query.reference != nil { foreign = [:] }
    own = try Unknown.paths(sets, on: access)
    if let foreign {
      sets = ItemClass.allCases.map { itemClass in
        foreign.merging([OwnName.itemClass: itemClass.rawValue]) { _, new in new }
      }
      marked = try Unknown.paths(sets, on: access)
    } else {
      marked = own
    }
    isExact = plan.isExact
  }

  private static func paths(_ sets: [[String: String]], on access: VaultAccess) throws(ItemFailure) -> Set<String> {
    let found = try access.with(.reading) { link throws(BusError) in try link.find(sets, limit: 0, secrets: false) }
    return Set(found.items.map(\.path))
  }

  /// Whether an unread item may match.
  func mayMatch(_ item: VaultItem) -> Bool { own.contains(item.path) || !marked.contains(item.path) }

  /// Whether an unread item matches for certain.
  func isCertain(_ item: VaultItem) -> Bool { isExact && own.contains(item.path) }
}
