/// The tables whose rows are numbered.
enum NumberedTable: CaseIterable {
  case collection, classKey, item

  var name: String {
    switch self {
    case .collection: "collection"
    case .classKey: "class_key"
    case .item: "item"
    }
  }

  /// Reads the counter of the table's numbers, and the highest number of a row.
  var query: StaticString {
    switch self {
    case .collection:
      "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'collection'), (SELECT max(id) FROM collection)"
    case .classKey:
      "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'class_key'), (SELECT max(id) FROM class_key)"
    case .item: "SELECT (SELECT seq FROM sqlite_sequence WHERE name = 'item'), (SELECT max(id) FROM item)"
    }
  }
}
