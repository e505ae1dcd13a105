/// Hears the outcome of keys that came to the vault.
protocol KeyObserver: AnyObject {
  /// The vault took keys over.
  func keysCame()
  /// The session changed its state because keys came, but these keys did not unlock the vault. The state goes back to locked or
  /// sealed.
  func keysDidNotOpen()
  /// The state that clients see has changed.
  func stateChanged()
}
