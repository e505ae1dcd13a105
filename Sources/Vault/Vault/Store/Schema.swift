/// The tables of `vault.db`, format 1. FORMAT.md says what each column holds.
///
/// Every row ends with a check sum over its other columns, so that damage is found without any key; Associated data binds every
/// sealed column to its row, so an attacker cannot move a value either.
enum Schema {
  /// SQLite's `application_id`: "Lkey".
  static let applicationID: Int64 = 0x4C6B_6579
  /// SQLite's `user_version`: the format's number.
  static let version: Int64 = 1

  static let statements = """
    PRAGMA application_id = 1282106745;
    CREATE TABLE vault (
      id INTEGER PRIMARY KEY CHECK (id = 1), vault BLOB NOT NULL, created INTEGER NOT NULL,
      index_key BLOB NOT NULL, checksum BLOB NOT NULL) STRICT;
    CREATE TABLE device (
      id INTEGER PRIMARY KEY, identity BLOB NOT NULL UNIQUE, share BLOB NOT NULL, erasable BLOB NOT NULL,
      index_key BLOB NOT NULL, checksum BLOB NOT NULL) STRICT;
    CREATE TABLE collection (
      id INTEGER PRIMARY KEY AUTOINCREMENT, uuid BLOB NOT NULL UNIQUE, ordinal INTEGER NOT NULL,
      epoch INTEGER NOT NULL, label BLOB NOT NULL, locked INTEGER NOT NULL, passphrase BLOB,
      default_class INTEGER, created INTEGER NOT NULL, modified INTEGER NOT NULL, checksum BLOB NOT NULL) STRICT;
    CREATE TABLE class_key (
      id INTEGER PRIMARY KEY AUTOINCREMENT, uuid BLOB NOT NULL UNIQUE,
      collection INTEGER NOT NULL REFERENCES collection ON DELETE CASCADE, class INTEGER NOT NULL,
      device INTEGER REFERENCES device, created INTEGER NOT NULL, class_key BLOB NOT NULL, class_key_session BLOB,
      metadata_key BLOB NOT NULL, metadata_key_session BLOB, public_key BLOB, public_tag BLOB, private_key BLOB,
      checksum BLOB NOT NULL) STRICT;
    CREATE TABLE item (
      id INTEGER PRIMARY KEY AUTOINCREMENT, uuid BLOB NOT NULL UNIQUE,
      collection INTEGER NOT NULL REFERENCES collection ON DELETE CASCADE,
      class_key INTEGER NOT NULL REFERENCES class_key, form INTEGER NOT NULL, created INTEGER NOT NULL,
      modified INTEGER NOT NULL, metadata BLOB NOT NULL, item_key BLOB NOT NULL, locked_tag BLOB, passphrase BLOB,
      secret BLOB NOT NULL, tokens BLOB NOT NULL, checksum BLOB NOT NULL) STRICT;
    CREATE INDEX item_collection ON item (collection);
    CREATE INDEX item_class_key ON item (class_key);
    CREATE INDEX item_form ON item (form) WHERE form <> 0;
    CREATE TABLE token (
      token BLOB NOT NULL, item INTEGER NOT NULL REFERENCES item ON DELETE CASCADE,
      PRIMARY KEY (token, item)) STRICT, WITHOUT ROWID;
    CREATE INDEX token_item ON token (item);
    CREATE TABLE alias (
      token BLOB PRIMARY KEY, collection INTEGER NOT NULL REFERENCES collection ON DELETE CASCADE,
      checksum BLOB NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE access_log (
      id INTEGER PRIMARY KEY AUTOINCREMENT, created INTEGER NOT NULL, entry BLOB NOT NULL,
      checksum BLOB NOT NULL) STRICT;
    PRAGMA user_version = 1;
    """
}
