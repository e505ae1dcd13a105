import LatchkeySecurity

/// The store of this program. The module LatchkeySecurity declares this function without a body, because it must not import this
/// module.
@_silgen_name("latchkey_keychain_store")
package func linkedKeychainStore() -> any ItemStore { ExplainedStore(VaultStore(groups: .ofProgram)) }
