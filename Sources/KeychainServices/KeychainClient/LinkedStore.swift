import LatchkeySecurity

/// The store of this program, which the module LatchkeySecurity declares and does not define: it must not import this one.
@_silgen_name("latchkey_keychain_store")
package func linkedKeychainStore() -> any ItemStore { ExplainedStore(VaultStore(groups: .ofProgram)) }
