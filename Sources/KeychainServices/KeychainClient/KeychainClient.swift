// KeychainClient: the client library's way to the vault.
//
// Programs import Security, LocalAuthentication or LatchkeyKeychain. These modules name no vault and no
// bus, so they can be built and tested without one. This module is linked beside them and gives them a
// store: ``linkedKeychainStore()`` is the symbol that Security declares without a body.
//
//     var query: [String: Any] = …
//     SecItemCopyMatching(query, &result)   // reaches VaultStore by that symbol
//
// ``VaultStore`` answers queries over the session bus. ``VaultLink`` is one connection with an
// encrypted session, and ``VaultAccess`` makes it when it is needed, after a restart of the vault, and
// in the child of a fork. ``SearchPlan`` turns a query into sets of attributes. ``WrittenItem`` and
// ``ItemClass`` say how an item of Apple's form is kept, so that other clients can read it. ``Person``
// asks the person as far as the program allows.
//
// The module promises that a program needs no import, option or file for any of this. A change of
// several items happens whole or not at all. A person's answer counts for one call or one context, and
// never for the whole program. Errors are Apple's codes, and `ExplainedStore` adds the cause.
//
// It does not keep items in memory. It does not separate programs of one user: an access group is a
// program's own claim. It does not take the place of `mmap` or of signal handlers, because the process
// belongs to somebody else. docs/developer/client-library.md has the reasons.
