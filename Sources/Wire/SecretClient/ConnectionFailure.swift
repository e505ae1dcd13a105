import LatchkeySystemd

/// Why there is no connection to the vault.
public enum ConnectionFailure: Error, Equatable {
  /// There is no session bus.
  case noBus
  /// Nobody keeps the secrets of this session, and the bus could not start the vault.
  case notRunning
  /// Who keeps them is another user's program.
  case stranger
  /// Who keeps them is not Latchkey.
  case otherService
  /// The connection broke while it was made.
  case broken(BusError)
}
