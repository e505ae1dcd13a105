import Foundation
import LatchkeySecurity

/// A query in the vault's form: sets of attributes. An item matches if it has all attributes of one set. Conditions that attributes
/// cannot express are checked afterwards, by ``ItemQuery/matches(_:)``.
struct SearchPlan: Equatable {
  /// The sets that find items of `SecItemAdd`, one for each access group.
  let own: [[String: String]]
  /// The set that finds items of other programs; nil if the query excludes such items.
  let foreign: [String: String]?
  /// Whether the sets express the whole query, except the accessibility. Then every found item matches, even if its attributes
  /// cannot be read.
  let isExact: Bool

  /// Plans a search.
  ///
  /// - Parameter groups: the program's groups. Items of other programs belong to the first group.
  init(_ query: ItemQuery, groups: AccessGroups) {
    let worldNames = query.itemClass.worldNames
    var told: [String: String] = [:]
    var isExact = true
    for (name, value) in query.attributes {
      let written = WrittenValue(value, of: name, hasWorldName: worldNames[name] != nil)
      if let worldName = worldNames[name], let world = written.world {
        told[worldName] = world
      } else if let own = written.own, SearchPlan.isOnlyForm(value), name != .label {
        told[OwnName.of(name)] = own
      } else {
        // An empty value is such a condition too, because absent attributes have no entry.
        isExact = false
      }
    }
    own = query.accessGroups.map { group in
      var set = told
      set[OwnName.itemClass] = query.itemClass.rawValue
      set[OwnName.accessGroup] = group
      if let isSynchronizable = query.isSynchronizable {
        set[OwnName.synchronizable] = isSynchronizable ? "1" : "0"
      }
      return set
    }
    let leads = worldNames[query.itemClass.leadingAttribute].map { told[$0] != nil } ?? false
    let isFirst = groups.names.first.map(query.accessGroups.contains) ?? false
    foreign = leads && isFirst && query.isSynchronizable != true ? told : nil
    self.isExact = isExact
  }

  /// Whether only one written form under our own name can match this value. For text this is false, because data with the same
  /// bytes match too.
  private static func isOnlyForm(_ value: AttributeValue) -> Bool {
    switch value {
    case .number: true
    case .data(let data): String(validating: data, as: UTF8.self) == nil
    case .text, .date: false
    }
  }

  /// All sets of the search.
  var sets: [[String: String]] { own + (foreign.map { [$0] } ?? []) }
}
