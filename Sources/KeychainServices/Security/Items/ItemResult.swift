import Foundation

/// Builds results in the form that programs expect.
enum ItemResult {
  /// The result of a call; nil if the program wants no result.
  ///
  /// - Parameters:
  ///   - items: The items that were found; not empty.
  ///   - kinds: The kinds of result that the program wants.
  ///   - limit: If the limit allows more than one item, the result is an array, even with one item.
  static func object(for items: [StoredItem], kinds: ReturnedKinds, limit: MatchLimit) -> AnyObject? {
    guard !kinds.isEmpty else { return nil }
    guard limit != .one else { return items.first.map { object(for: $0, kinds: kinds) } }
    return items.map { object(for: $0, kinds: kinds) } as NSArray
  }

  /// If only data or only a reference was requested, it is the result itself. Everything else is in a dictionary.
  private static func object(for item: StoredItem, kinds: ReturnedKinds) -> AnyObject {
    switch kinds {
    case .data: return (item.secret ?? Data()) as NSData
    case .persistentReference: return item.reference.data as NSData
    default: break
    }
    var result: [String: Any] = kinds.contains(.attributes) ? attributes(of: item) : [:]
    if kinds.contains(.data) { result["v_Data"] = item.secret ?? Data() }
    if kinds.contains(.persistentReference) { result["v_PersistentRef"] = item.reference.data }
    return result as NSDictionary
  }

  private static func attributes(of item: StoredItem) -> [String: Any] {
    var result: [String: Any] = [
      "class": item.reference.itemClass.rawValue, "agrp": item.accessGroup,
      "sync": NSNumber(value: item.isSynchronizable ? 1 : 0), "pdmn": item.protection.accessible.constant,
      "accc": item.protection.object,
    ]
    for name in item.reference.itemClass.primaryAttributes { result[name.rawValue] = name.absentValue?.object }
    for (name, value) in item.attributes { result[name.rawValue] = value.object }
    return result
  }
}
