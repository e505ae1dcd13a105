// KeychainClient: the part of the client library that connects to the vault.
//
// Programs import Security, LocalAuthentication or LatchkeyKeychain. These modules name no vault and no bus, so they can be built
// and tested without one. A program also links this module, which gives them a store: ``linkedKeychainStore()`` is the symbol that
// Security declares without a body.
//
//     var query: [String: Any] = …
//     SecItemCopyMatching(query, &result)   // reaches VaultStore by that symbol
//
// ``VaultStore`` answers queries over the session bus. ``VaultLink`` is one connection with an encrypted session. ``VaultAccess``
// makes a connection when it is needed, and a new one after a restart of the vault or in the child of a fork. ``SearchPlan`` turns
// a query into sets of attributes. ``WrittenItem`` and ``ItemClass`` define how an item of Apple's form is stored, so that other
// clients can read it. ``Person`` asks the person if the program allows it.
//
// The module promises that a program needs no import, option or file to use it. If a call changes several items, it changes all or
// none. A person's answer counts for one call or one context, and never for the whole program. Errors are Apple's codes, and
// `ExplainedStore` adds the cause.
//
// It does not keep items in memory. It does not separate the programs of one user, because an access group is only a program's
// claim. It does not replace `mmap` or signal handlers, because the process belongs to another program's author.
// docs/developer/client-library.md has the reasons.
