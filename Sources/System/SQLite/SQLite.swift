// SQLite: one connection to a database file, with typed statements.
//
// The vault's database and its generations are SQLite files. ``Database`` opens one, and prepares each
// statement once. ``Statement`` binds values, steps through rows and resets. ``DatabaseCopy`` copies a
// database a few pages at a time, while the same connection changes it.
//
//     let database = try Database(path: path, mode: .existing)
//     let statement = try database.statement("SELECT label FROM item WHERE id = ?")
//     defer { statement.reset() }
//     try statement.bind(1, 7)
//     while try statement.step() { show(statement.text(0)) }
//
// The text of a statement is a literal, so no value is ever a part of it.
//
// The module promises that a committed transaction is on the disk, by write-ahead mode with `synchronous=FULL`. No second
// process opens the file meanwhile. Deleted content is overwritten with zeros. A statement that a hostile file keeps busy
// ends after a bounded amount of work. Errors say whether the file is damaged, busy or full, because callers act on the
// kind.
//
// It does not believe a file. SQLite runs no trigger in it, but whether a row is genuine depends on keys, which belong to the
// module Vault. It does not share a connection between threads. It links no extension, and gives nobody SQL of their own.
