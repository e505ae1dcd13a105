/// Hears the outcome for keys that came to the vault.
protocol KeyObserver: AnyObject {
  /// The vault took keys over.
  func keysCame()
  /// The session's state changed for keys that then did not unlock the vault. It goes back to locked or sealed.
  func keysDidNotOpen()
  /// The state that clients see has changed.
  func stateChanged()
}
