import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySQLite
import LatchkeySodium

@testable import LatchkeyVault

/// A small vault. Each input changes the vault's database, and then the target makes every kind of request. The vault
/// may answer correctly or with an error. The vault must not trap, return another secret, or overwrite existing data.
final class DamagedVault {
  private let specimen: Specimen
  private let copy: Home

  init() {
    do {
      specimen = try Specimen()
      copy = try Home(copying: specimen.home)
    } catch { fatalError("no vault: \(error)") }
    // After a trap, this folder has the input as a file.
    print("the vault is in \(copy.folder)")
  }

  /// Damages the file as a failing disk does. Six bytes of the input make one damage. Three of the bytes choose the
  /// place, and the others choose the content, the kind and the length.
  func damage(_ input: [UInt8]) {
    var file = specimen.database
    for piece in stride(from: 0, to: input.count - 5, by: 6) {
      let offset = (Int(input[piece]) | Int(input[piece + 1]) << 8 | Int(input[piece + 2]) << 16) % file.count
      let end = min(file.count, offset + 1 + Int(input[piece + 5]))
      switch input[piece + 4] & 7 {
      case 0, 1, 2: file[offset] = input[piece + 3]
      case 3: file[offset] ^= 1 << (input[piece + 3] & 7)
      case 4: for index in offset..<end { file[index] = input[piece + 3] }
      case 5: file.swapAt(offset, end - 1)
      case 6: file = Array(file.prefix(max(offset, 100)))
      default: file.replaceSubrange(offset..<end, with: file.prefix(end - offset))
      }
    }
    if file == specimen.database { return }
    if let complaint = specimen.complaint(in: copy, damaged: file) { fatalError(complaint) }
  }

  /// Changes the database as an attacker who knows the format: values of columns, with valid check sums.
  func alter(_ input: [UInt8]) {
    copy.write("vault.db", specimen.database)
    for suffix in ["-wal", "-shm"] { copy.remove("vault.db" + suffix) }
    do {
      let store = try Store(path: copy.folder + "/vault.db", vault: copy.keybag.vault)
      var rest = input[...]
      while rest.count >= 5 { change(store, &rest) }
      try Checksums(store).write()
      try store.database.checkpoint()
    } catch { return }
    ask()
  }

  private static let tables: [(name: String, columns: [String])] = [
    (
      "item",
      [
        "id", "uuid", "collection", "class_key", "form", "created", "modified", "metadata", "item_key", "locked_tag",
        "passphrase", "secret", "tokens",
      ]
    ),
    (
      "class_key",
      [
        "id", "uuid", "collection", "class", "device", "created", "class_key", "class_key_session", "metadata_key",
        "metadata_key_session", "public_key", "public_tag", "private_key",
      ]
    ),
    (
      "collection",
      [
        "id", "uuid", "ordinal", "epoch", "label", "locked", "passphrase", "default_class", "created", "modified",
      ]
    ),
    ("device", ["id", "identity", "share", "erasable", "index_key"]),
    ("vault", ["vault", "created", "index_key"]),
    ("alias", ["token", "collection"]),
    ("token", ["token", "item"]),
    ("sqlite_sequence", ["seq"]),
  ]

  /// One change: table, column, row, kind and length, and then that many bytes.
  private func change(_ store: Store, _ input: inout ArraySlice<UInt8>) {
    let head = Array(input.prefix(5))
    input = input.dropFirst(5)
    let bytes = Array(input.prefix(Int(head[4])))
    input = input.dropFirst(bytes.count)
    let table = DamagedVault.tables[Int(head[0]) % DamagedVault.tables.count]
    let column = table.columns[Int(head[1]) % table.columns.count]
    func row(_ number: UInt8) -> String {
      table.name == "token" || table.name == "alias"
        ? "token = (SELECT token FROM \(table.name) LIMIT 1 OFFSET \(number))"
        : "rowid = (SELECT rowid FROM \(table.name) LIMIT 1 OFFSET \(number))"
    }
    let sql =
      switch head[3] & 7 {
      case 0, 1:
        "UPDATE \(table.name) SET \(column) = \(bytes.prefix(8).reduce(Int64(0)) { $0 << 8 | Int64($1) })"
          + " WHERE \(row(head[2]))"
      case 2: "UPDATE \(table.name) SET \(column) = x'\(hexadecimal(bytes))' WHERE \(row(head[2]))"
      case 3: "UPDATE \(table.name) SET \(column) = NULL WHERE \(row(head[2]))"
      case 4: "DELETE FROM \(table.name) WHERE \(row(head[2]))"
      case 5:
        "UPDATE \(table.name) SET \(column) = \(column) + \(Int8(bitPattern: bytes.first ?? 1)) WHERE \(row(head[2]))"
      default:
        // Copies one row's value into another row.
        "UPDATE \(table.name) SET \(column) = (SELECT \(column) FROM \(table.name) WHERE \(row(bytes.first ?? 0)))"
          + " WHERE \(row(head[2]))"
      }
    // A statement that the schema does not allow changes nothing.
    try? store.database.execute(sql)
  }

  private func ask() {
    let vault = copy.vault()
    for _ in 0..<2 {
      try? copy.unlock(vault)
      vault.verifyToEnd()
      for item in specimen.items {
        if let found = try? vault.secretText(item.id), found != item.secret { fatalError("\(item.name): wrong secret") }
        for id in (try? vault.ids(["name": item.name])) ?? [] { _ = try? vault.reader.info(ofItem: id) }
      }
      for collection in vault.collections.ids {
        _ = try? vault.reader.items(in: collection)
        _ = try? vault.collections.info(of: collection)
      }
      _ = try? vault.collections.alias("default")
      vault.lock()
      _ = try? vault.add(["name": "locked"], "locked")
      vault.seal()
    }
    try? copy.unlock(vault)
    _ = try? vault.writer.rewrapStoredWhileLocked()
    if let id = try? vault.add(["name": "new"], "new"), specimen.items.contains(where: { $0.id == id }),
      (try? vault.ids(["name": "new"])) == [id]
    {
      // A new item may reuse the number only if the input removed that row.
      if (try? vault.secretText(id)) != "new" { fatalError("a new item took the number \(id)") }
    }
    try? vault.collections.lock(1)
    try? vault.collections.setLabel(of: specimen.second, "x")
    _ = try? vault.collections.create(label: "y", alias: "z")
    for item in specimen.items.prefix(3) { try? vault.writer.deleteItem(item.id) }
    try? vault.collections.delete(specimen.second)
    for item in specimen.items {
      if let found = try? vault.secretText(item.id), found != item.secret, found != "new" {
        fatalError("\(item.name): written over")
      }
    }
  }
}

private func hexadecimal(_ bytes: [UInt8]) -> String {
  let digits = Array("0123456789abcdef")
  return bytes.reduce(into: "") { $0 += String([digits[Int($1 >> 4)], digits[Int($1 & 15)]]) }
}

/// Gives every row a valid check sum, as an attacker who can write the file could.
private struct Checksums {
  let store: Store
  init(_ store: Store) { self.store = store }

  func write() throws {
    try each("SELECT vault, created, index_key FROM vault", "vault WHERE id = 1") {
      VaultRow(vault: $0.blob(0), created: UInt64(bitPattern: $0.integer(1)), indexKey: $0.blob(2))
    }
    try each("SELECT id, identity, share, erasable, index_key FROM device", "device WHERE id = ") {
      DeviceRow(
        id: $0.integer(0), identity: $0.blob(1), share: $0.blob(2), erasable: $0.blob(3), indexKey: $0.blob(4))
    }
    try each(
      """
      SELECT id, uuid, ordinal, epoch, label, locked, passphrase, default_class, created, modified FROM collection
      """, "collection WHERE id = "
    ) {
      CollectionRow(
        id: $0.integer(0), uuid: $0.blob(1), ordinal: UInt64(bitPattern: $0.integer(2)),
        epoch: UInt64(bitPattern: $0.integer(3)), label: $0.blob(4), locked: $0.integer(5) != 0,
        passphrase: $0.optionalBlob(6),
        defaultClass: AccessibilityClass(rawValue: UInt8(truncatingIfNeeded: $0.integer(7))),
        created: UInt64(bitPattern: $0.integer(8)), modified: UInt64(bitPattern: $0.integer(9)))
    }
    try each(
      """
      SELECT id, uuid, collection, class, device, created, class_key, class_key_session, metadata_key,
        metadata_key_session, public_key, public_tag, private_key FROM class_key
      """, "class_key WHERE id = "
    ) { s -> ClassKeyRow? in
      guard let accessibility = AccessibilityClass(rawValue: UInt8(truncatingIfNeeded: s.integer(3))) else {
        return nil
      }
      return ClassKeyRow(
        id: s.integer(0), uuid: s.blob(1), collection: s.integer(2), accessibility: accessibility,
        device: s.isNull(4) ? nil : s.integer(4), created: UInt64(bitPattern: s.integer(5)), classKey: s.blob(6),
        classKeySession: s.optionalBlob(7), metadataKey: s.blob(8), metadataKeySession: s.optionalBlob(9),
        publicKey: s.optionalBlob(10), publicTag: s.optionalBlob(11), privateKey: s.optionalBlob(12))
    }
    try each(
      """
      SELECT id, uuid, collection, class_key, form, created, modified, metadata, item_key, locked_tag, passphrase,
        secret, tokens FROM item
      """, "item WHERE id = "
    ) { s -> ItemRow? in
      guard let form = ItemRow.Form(rawValue: UInt8(truncatingIfNeeded: s.integer(4))) else { return nil }
      return ItemRow(
        id: s.integer(0), uuid: s.blob(1), collection: s.integer(2), classKey: s.integer(3), form: form,
        created: UInt64(bitPattern: s.integer(5)), modified: UInt64(bitPattern: s.integer(6)), metadata: s.blob(7),
        itemKey: s.blob(8), lockedTag: s.optionalBlob(9), access: s.optionalBlob(10), secret: s.blob(11),
        tokens: s.blob(12))
    }
    var sql: [String] = []
    let statement = try store.database.statement("SELECT token, collection FROM alias")
    while try statement.step() {
      let row = AliasRow(token: statement.blob(0), collection: statement.integer(1))
      sql.append(
        "UPDATE alias SET checksum = x'\(hexadecimal(row.checksum))' WHERE token = x'\(hexadecimal(row.token))'")
    }
    for statement in sql { try store.database.execute(statement) }
  }

  /// `place` is the table and the condition of the row. If the condition ends with "= ", the row's number is added.
  private func each(_ query: StaticString, _ place: String, _ row: (Statement) -> (any CheckedRow)?) throws {
    var sql: [String] = []
    let statement = try store.database.statement(query)
    while try statement.step() {
      guard let row = row(statement) else { continue }
      let (table, condition) = (place.prefix { $0 != " " }, place.drop { $0 != " " })
      let number = condition.hasSuffix("= ") ? "\(statement.integer(0))" : ""
      sql.append("UPDATE \(table) SET checksum = x'\(hexadecimal(row.checksum))'\(condition)\(number)")
    }
    for statement in sql { try store.database.execute(statement) }
  }
}
