/// Told of what became of keys that came to the vault.
protocol KeyObserver: AnyObject {
  /// The vault took keys over.
  func keysCame()
  /// The session's state was changed for keys that then did not open the vault: back to where nothing is open.
  func keysDidNotOpen()
  /// What clients see of the state is another by now.
  func stateChanged()
}
