import LatchkeyKeybag
import LatchkeySQLite
import LatchkeySodium

/// The items and their index tokens in the ``Store``.
extension Store {
  private static let columns: StaticString = """
    SELECT id, uuid, collection, class_key, form, created, modified, metadata, item_key, locked_tag, passphrase,
      secret, tokens, checksum FROM item WHERE id = ?
    """

  /// The item of that number; nil if there is no such item.
  func item(_ id: Int64) throws(VaultError) -> ItemRow? {
    let read = try VaultError.store { () throws(SQLiteError) -> (row: ItemRow?, checksum: [UInt8])? in
      let s = try database.statement(Store.columns)
      defer { s.reset() }
      guard try s.bind(1, id).step() else { return nil }
      guard let form = ItemRow.Form(rawValue: UInt8(truncatingIfNeeded: s.integer(4))) else { return (nil, []) }
      let row = ItemRow(
        id: s.integer(0), uuid: s.blob(1), collection: s.integer(2), classKey: s.integer(3), form: form,
        created: UInt64(bitPattern: s.integer(5)), modified: UInt64(bitPattern: s.integer(6)), metadata: s.blob(7),
        itemKey: s.blob(8), lockedTag: s.optionalBlob(9), access: s.optionalBlob(10), secret: s.blob(11),
        tokens: s.blob(12))
      return (row, s.blob(13))
    }
    guard let read else { return nil }
    guard let row = read.row, row.checksum == read.checksum else {
      throw .damaged(.of(.database, .itemDamaged(id)))
    }
    return row
  }

  /// Inserts a new item with its tokens. Never replaces another row, even one of the same number.
  func insert(_ row: ItemRow) throws(VaultError) {
    texts.forget(item: row.id)
    try VaultError.store { () throws(SQLiteError) in
      try database.statement("INSERT INTO item VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
        .bind(1, row.id).bind(2, row.uuid).bind(3, row.collection).bind(4, row.classKey)
        .bind(5, Int64(row.form.rawValue)).bind(6, Int64(bitPattern: row.created))
        .bind(7, Int64(bitPattern: row.modified)).bind(8, row.metadata).bind(9, row.itemKey).bind(10, row.lockedTag)
        .bind(11, row.access).bind(12, row.secret).bind(13, row.tokens).bind(14, row.checksum).run()
      try insertTokens(row)
    }
  }

  /// Writes the columns of an item that can change, with its tokens.
  func update(_ row: ItemRow) throws(VaultError) {
    texts.forget(item: row.id)
    try VaultError.store { () throws(SQLiteError) in
      try database.statement(
        """
        UPDATE item SET class_key = ?, form = ?, modified = ?, metadata = ?, item_key = ?, locked_tag = ?, passphrase = ?,
          secret = ?, tokens = ?, checksum = ? WHERE id = ?
        """
      ).bind(1, row.classKey).bind(2, Int64(row.form.rawValue)).bind(3, Int64(bitPattern: row.modified))
        .bind(4, row.metadata).bind(5, row.itemKey).bind(6, row.lockedTag).bind(7, row.access).bind(8, row.secret)
        .bind(9, row.tokens).bind(10, row.checksum).bind(11, row.id).run()
      try database.statement("DELETE FROM token WHERE item = ?").bind(1, row.id).run()
      try insertTokens(row)
    }
  }

  private func insertTokens(_ row: ItemRow) throws(SQLiteError) {
    for token in AttributeIndex.split(row.tokens) {
      try database.statement("INSERT OR IGNORE INTO token VALUES (?, ?)").bind(1, token).bind(2, row.id).run()
    }
  }

  /// Deletes an item. No key is needed.
  ///
  /// - Parameter uuid: the uuid that the item must have; nil for any.
  /// - Returns: whether the item existed.
  func deleteItem(_ id: Int64, uuid: [UInt8]? = nil) throws(VaultError) -> Bool {
    let found = try numbers("SELECT id FROM item WHERE id = ?1 AND uuid = coalesce(?2, uuid)") {
      s throws(SQLiteError) in try s.bind(1, id).bind(2, uuid)
    }
    guard !found.isEmpty else { return false }
    texts.forget(item: id)
    try VaultError.store { () throws(SQLiteError) in
      try database.statement("DELETE FROM item WHERE id = ?").bind(1, id).run()
    }
    return true
  }

  /// The end of a query's rows. A tree whose pages all lead to one page repeats that page's rows a hundred million times, which
  /// would fill the memory.
  enum RowEnd {
    /// The number in the first column rises from row to row.
    case rising
    /// There is this number of rows at most.
    case count(Int)
  }

  /// All rows of a query, in its order.
  ///
  /// - Throws: ``VaultError/damaged(_:)`` at the first row behind `end`.
  func all<Row>(
    _ end: RowEnd, _ sql: StaticString,
    _ bind: (Statement) throws(SQLiteError) -> Void = { _ throws(SQLiteError) in },
    _ read: (Statement) -> Row
  ) throws(VaultError) -> [Row] {
    var isRight = true
    let rows = try VaultError.store { () throws(SQLiteError) -> [Row] in
      let statement = try database.statement(sql)
      defer { statement.reset() }
      try bind(statement)
      var found: [Row] = []
      var last: Int64?
      while isRight, try statement.step() {
        switch end {
        case .rising:
          let number = statement.integer(0)
          if let last, number <= last { isRight = false }
          last = number
        case .count(let limit): isRight = found.count < limit
        }
        if isRight { found.append(read(statement)) }
      }
      return found
    }
    try require(isRight)
    return rows
  }

  /// The numbers in the first column of a query: one row, unless it says otherwise.
  func numbers(
    _ sql: StaticString, end: RowEnd = .count(1), _ bind: (Statement) throws(SQLiteError) -> Void
  ) throws(VaultError) -> [Int64] {
    try all(end, sql, bind) { $0.integer(0) }
  }

  /// The collection of an item; nil if there is no such item.
  func collection(ofItem id: Int64) throws(VaultError) -> Int64? {
    try numbers("SELECT collection FROM item WHERE id = ?") { s throws(SQLiteError) in try s.bind(1, id) }.first
  }

  private func places(
    _ sql: StaticString, _ bind: (Statement) throws(SQLiteError) -> Void
  ) throws(VaultError) -> [PlacedItem] {
    try all(.rising, sql, bind) { PlacedItem($0) }
  }

  /// The place of an item; nil if there is no such item.
  func place(ofItem id: Int64) throws(VaultError) -> PlacedItem? {
    try places("SELECT id, collection, class_key, form, passphrase IS NOT NULL, modified FROM item WHERE id = ?") {
      s throws(SQLiteError) in
      try s.bind(1, id)
    }.first
  }

  /// Every item of a collection, oldest first.
  func items(in collection: Int64) throws(VaultError) -> [Int64] {
    let found = try all(
      .rising, "SELECT id, collection FROM item INDEXED BY item_collection WHERE collection = ? ORDER BY id"
    ) { s throws(SQLiteError) in
      try s.bind(1, collection)
    } _: {
      (id: $0.integer(0), collection: $0.integer(1))
    }
    try require(found.allSatisfy { $0.collection == collection })
    return found.map(\.id)
  }

  /// The places of all items of a collection, oldest first.
  func places(in collection: Int64) throws(VaultError) -> [PlacedItem] {
    let found = try places(
      "SELECT id, collection, class_key, form, passphrase IS NOT NULL, modified FROM item WHERE collection = ? ORDER BY id"
    ) { s throws(SQLiteError) in try s.bind(1, collection) }
    try require(found.allSatisfy { $0.collection == collection })
    return found
  }

  /// The places of all items whose class key is `classKey`, oldest first.
  func places(classKey: Int64) throws(VaultError) -> [PlacedItem] {
    let found = try places(
      "SELECT id, collection, class_key, form, passphrase IS NOT NULL, modified FROM item WHERE class_key = ? ORDER BY id"
    ) { s throws(SQLiteError) in try s.bind(1, classKey) }
    try require(found.allSatisfy { $0.classKey == classKey })
    return found
  }

  /// Up to `limit` items of a collection with a number below `id`, the highest first. It reads only the index, which has no
  /// secrets.
  func items(in collection: Int64, below id: Int64, limit: Int) throws(VaultError) -> [Int64] {
    let found = try all(
      .count(limit), "SELECT id, collection FROM item WHERE collection = ? AND id < ? ORDER BY id DESC LIMIT ?"
    ) { s throws(SQLiteError) in
      try s.bind(1, collection).bind(2, id).bind(3, Int64(limit))
    } _: {
      (item: $0.integer(0), collection: $0.integer(1))
    }
    var last = id
    // SQLite counts from 1. So a number below 1 is damage.
    for entry in found {
      try require(entry.collection == collection && 0 < entry.item && entry.item < last)
      last = entry.item
    }
    return found.map(\.item)
  }

  /// Refuses an entry of an index that SQLite returned for another entry. SQLite believes an index's order: in an index that is out
  /// of order, a search can end at another entry, and SQLite returns that. So readers by an index compare each entry.
  func require(_ isRight: Bool) throws(VaultError) {
    guard isRight else { throw .damaged(.of(.database, .vault(.indexDamaged))) }
  }

  /// Up to `limit` items in `form` with a number above `id`.
  func items(form: ItemRow.Form, after id: Int64, limit: Int) throws(VaultError) -> [Int64] {
    let found = try numbers(
      "SELECT id FROM item WHERE form = ? AND form <> 0 AND id > ? ORDER BY id LIMIT ?", end: .count(limit)
    ) { s throws(SQLiteError) in
      try s.bind(1, Int64(form.rawValue)).bind(2, id).bind(3, Int64(limit))
    }
    return try inOrder(found, after: id, by: \.self)
  }

  /// Up to `limit` items with a number above `id`, for a walk through all of them.
  func items(after id: Int64, limit: Int) throws(VaultError) -> [Int64] {
    let found = try numbers("SELECT id FROM item WHERE id > ? ORDER BY id LIMIT ?", end: .count(limit)) {
      s throws(SQLiteError) in
      try s.bind(1, id).bind(2, Int64(limit))
    }
    return try inOrder(found, after: id, by: \.self)
  }

  /// The rows, if their numbers rise above `id`. SQLite does not check the order in a tree. A damaged tree may lead back to earlier
  /// numbers, and a walk over it would have no end.
  ///
  /// - Throws: ``VaultError/damaged(_:)`` unless each number is above the one before it, and the first above `id`.
  func inOrder<Row>(_ rows: [Row], after id: Int64, by number: KeyPath<Row, Int64>) throws(VaultError) -> [Row] {
    var last = id
    for row in rows {
      guard row[keyPath: number] > last else { throw .damaged(.of(.database, .rowDamaged(table: "item"))) }
      last = row[keyPath: number]
    }
    return rows
  }

  /// Up to `limit` items whose keys depend on the class key `classKey`, but no quarantined items.
  func items(classKey: Int64, limit: Int) throws(VaultError) -> [Int64] {
    try numbers(
      "SELECT id FROM item WHERE class_key = ? AND form <> 2 ORDER BY id LIMIT ?", end: .rising
    ) { s throws(SQLiteError) in try s.bind(1, classKey).bind(2, Int64(limit)) }
  }

  /// Whether any item's keys depend on the class key `classKey`.
  func hasItems(classKey: Int64) throws(VaultError) -> Bool {
    try !numbers("SELECT 1 FROM item WHERE class_key = ? LIMIT 1") { s throws(SQLiteError) in
      try s.bind(1, classKey)
    }.isEmpty
  }

  /// The number of items that depend on the class key `classKey`, of the quarantined items or of all others.
  func count(classKey: Int64, quarantined: Bool) throws(VaultError) -> Int64 {
    try numbers("SELECT count(*) FROM item WHERE class_key = ? AND (form = 2) = ?") { s throws(SQLiteError) in
      try s.bind(1, classKey).bind(2, quarantined ? 1 : 0)
    }.first ?? 0
  }

  /// Whether an item of the collection waits for its class to be unlocked.
  func hasItemsStoredWhileLocked(in collection: Int64) throws(VaultError) -> Bool {
    try !numbers(
      "SELECT 1 FROM item WHERE form = 1 AND form <> 0 AND collection = ? LIMIT 1"
    ) { s throws(SQLiteError) in try s.bind(1, collection) }.isEmpty
  }

  /// Writes an item's keys and label under another class key. The item's index entries stay.
  func rewrap(_ row: ItemRow) throws(VaultError) {
    try VaultError.store { () throws(SQLiteError) in
      try database.statement(
        """
        UPDATE item SET class_key = ?, form = ?, metadata = ?, item_key = ?, locked_tag = ?, checksum = ? WHERE id = ?
        """
      ).bind(1, row.classKey).bind(2, Int64(row.form.rawValue)).bind(3, row.metadata).bind(4, row.itemKey)
        .bind(5, row.lockedTag).bind(6, row.checksum).bind(7, row.id).run()
    }
  }

  /// The places of all items that have all of `tokens`, at least one token, oldest first.
  ///
  /// A search starts at the token that the fewest items have, so it costs only as much as its rarest attribute. Many programs give
  /// one attribute to all their items.
  func places(withTokens tokens: [[UInt8]]) throws(VaultError) -> [PlacedItem] {
    guard let rarest = try rarest(of: tokens) else { return [] }
    let others = tokens.filter { $0 != rarest }
    var found = try places(
      """
      SELECT token.item, collection, class_key, form, passphrase IS NOT NULL, modified
      FROM token LEFT JOIN item ON item.id = token.item
      WHERE token = ?1 AND (?2 IS NULL OR EXISTS (SELECT 1 FROM token AS t WHERE t.token = ?2 AND t.item = token.item))
        AND (?3 IS NULL OR EXISTS (SELECT 1 FROM token AS t WHERE t.token = ?3 AND t.item = token.item))
      ORDER BY token.item
      """
    ) { s throws(SQLiteError) in
      try s.bind(1, rarest).bind(2, others.first).bind(3, others.dropFirst().first)
    }
    for token in others.dropFirst(2) {
      var kept: [PlacedItem] = []
      for place in found where try hasToken(token, place.item) { kept.append(place) }
      found = kept
    }
    if !isVerified {
      for place in found where place.collection != nil {
        let listed = try self.tokens(ofItem: place.item)
        try require(tokens.allSatisfy(listed.contains))
      }
    }
    return found
  }

  /// The token that the fewest items have; nil if one of the tokens has no item. It looks at a few entries of each token first. If
  /// one token is rare, the common ones need not be counted.
  private func rarest(of tokens: [[UInt8]]) throws(VaultError) -> [UInt8]? {
    guard tokens.count > 1 else { return tokens.first }
    var limit: Int64 = 4
    while true {
      var rarest: (token: [UInt8], count: Int64)?
      for token in tokens {
        let count =
          try numbers("SELECT count(*) FROM (SELECT 1 FROM token WHERE token = ? LIMIT ?)") { s throws(SQLiteError) in
            try s.bind(1, token).bind(2, limit)
          }.first ?? 0
        if count == 0 { return nil }
        if count < rarest?.count ?? .max { rarest = (token, count) }
        if count == 1 { return token }
      }
      if let rarest, rarest.count < limit || limit > 10_000 { return rarest.token }
      limit *= 16
    }
  }

  /// Whether the index has this entry.
  func hasToken(_ token: [UInt8], _ item: Int64) throws(VaultError) -> Bool {
    // Looks the entry up by its token, not by its item.
    let found = try entries(
      .count(1), "SELECT item, token FROM token INDEXED BY sqlite_autoindex_token_1 WHERE token = ? AND item = ?"
    ) { s throws(SQLiteError) in try s.bind(1, token).bind(2, item) }
    try require(found.allSatisfy { $0.number == item && $0.bytes == token })
    return !found.isEmpty
  }

  /// A number, and bytes.
  private func entries(
    _ end: RowEnd, _ sql: StaticString, _ bind: (Statement) throws(SQLiteError) -> Void
  ) throws(VaultError) -> [(number: Int64, bytes: [UInt8])] {
    try all(end, sql, bind) { (number: $0.integer(0), bytes: $0.blob(1)) }
  }

  /// The tokens that an item's row lists; the last token stands for the whole set. The check sum of the tokens is not checked.
  func tokens(ofItem id: Int64) throws(VaultError) -> [[UInt8]] {
    let column = try VaultError.store { () throws(SQLiteError) in
      let statement = try database.statement("SELECT tokens FROM item WHERE id = ?")
      defer { statement.reset() }
      return try statement.bind(1, id).step() ? statement.blob(0) : []
    }
    return AttributeIndex.split(column)
  }

  /// Checks that the index has exactly the tokens of the row, by the token and by the item.
  ///
  /// - Throws: ``VaultError/damaged(_:)``.
  func checkTokens(of row: ItemRow) throws(VaultError) {
    let tokens = Set(AttributeIndex.split(row.tokens))
    // A token too many is damage of this item.
    let found = try entries(
      .count(tokens.count + 1), "SELECT item, token FROM token INDEXED BY token_item WHERE item = ?"
    ) { s throws(SQLiteError) in try s.bind(1, row.id) }
    var isRight =
      found.count == tokens.count && found.allSatisfy { $0.number == row.id } && Set(found.map(\.bytes)) == tokens
    for token in tokens where isRight { isRight = try hasToken(token, row.id) }
    guard isRight else { throw .damaged(.of(.database, .itemIndexDamaged(row.id))) }
  }

  /// Up to `limit` items with a number above `id`, each with its check sum: by these, two databases are compared.
  func sums(after id: Int64, limit: Int) throws(VaultError) -> [ItemSum] {
    let found = try all(.count(limit), "SELECT id, checksum FROM item WHERE id > ? ORDER BY id LIMIT ?") {
      s throws(SQLiteError) in
      try s.bind(1, id).bind(2, Int64(limit))
    } _: {
      ItemSum(item: $0.integer(0), checksum: $0.blob(1))
    }
    return try inOrder(found, after: id, by: \.item)
  }

  /// Up to `limit` items with a number above `id`, each with its uuid, by the rows themselves.
  func uuids(after id: Int64, limit: Int) throws(VaultError) -> [(id: Int64, uuid: [UInt8])] {
    let found = try entries(.count(limit), "SELECT id, uuid FROM item NOT INDEXED WHERE id > ? ORDER BY id LIMIT ?") {
      s throws(SQLiteError) in try s.bind(1, id).bind(2, Int64(limit))
    }
    return try inOrder(found.map { (id: $0.number, uuid: $0.bytes) }, after: id, by: \.id)
  }

  /// The number of the item with this uuid; nil if there is none.
  func item(uuid: [UInt8]) throws(VaultError) -> Int64? {
    let found = try entries(.count(1), "SELECT id, uuid FROM item INDEXED BY sqlite_autoindex_item_1 WHERE uuid = ?") {
      s throws(SQLiteError) in try s.bind(1, uuid)
    }
    try require(found.allSatisfy { $0.bytes == uuid })
    return found.first?.number
  }

  /// The number of items.
  func itemCount() throws(VaultError) -> Int64 {
    // Without a condition SQLite counts in one operation, which has no end in a damaged tree.
    try numbers("SELECT count(*) FROM item INDEXED BY item_class_key WHERE class_key > ?") { s throws(SQLiteError) in
      try s.bind(1, .min)
    }.first ?? 0
  }
}

/// An item's number, and the check sum in its row.
struct ItemSum: Equatable {
  let item: Int64
  let checksum: [UInt8]
}
