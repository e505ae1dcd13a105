import LatchkeySystemd

/// The reason why there is no connection to the vault.
public enum ConnectionFailure: Error, Equatable {
  /// There is no session bus.
  case noBus
  /// No program provides the secrets of this session, and the bus could not start the vault.
  case notRunning
  /// Another user's program owns the name.
  case stranger
  /// A program other than Latchkey owns the name.
  case otherService
  /// The connection broke while it was made.
  case broken(BusError)
}
