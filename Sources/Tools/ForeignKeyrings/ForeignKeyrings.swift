// ForeignKeyrings: readers for files of other programs.
//
// Each reader takes the bytes of a file and gives ``ForeignItem``s: a label, attributes, a secret,
// times. ``KeyringFile`` reads gnome-keyring's and oo7's files, ``WalletFile`` KWallet's,
// ``PasswordTable`` passwords that browsers exported as CSV, ``JSONExport`` exports of our own,
// ``KeePassExport`` XML of keepassxc-cli, and ``PasswordFile`` a decrypted file of pass.
//
//     let form = try KeyringFile.form(of: bytes)  // says whether a password is needed
//
// `latchkey import` stores what was read over the session bus. `latchkey-kwallet` uses ``WalletValue``
// for the values of entries.
//
// The module promises that a hostile file ends in an error that names it. Every size is checked against
// what is left of the file before memory is taken. The cost of a password in a file has a limit. A
// reader keeps places in locked memory instead of copying secrets into text. Nothing is left out
// silently: an entry that cannot become an item is reported with its reason.
//
// It writes nothing, and changes no original. It does not start programs: for pass and KeePass the command runs `gpg` and
// `keepassxc-cli`, and hands over their output. It does not decide what is a duplicate or which version wins. `Importer` does. Old
// ciphers and hashes here (AES-CBC, Blowfish, MD5, SHA-1) are the files' own, and Latchkey depends on none of them.
