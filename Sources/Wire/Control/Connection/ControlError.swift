import LatchkeyReasons

/// Why the daemon could not be asked.
public enum ControlError: Error, Equatable, Sendable {
  /// Nobody listens.
  case noDaemon
  /// Somebody listens who is neither the user nor root.
  case strangeDaemon
  /// No answer in time.
  case silent
  /// An answer that this version does not know, or the connection ended.
  case broken
  /// The daemon declined, for this reason.
  case declined(Reason)
  /// The daemon is of another version, as it was started before the package was upgraded.
  case otherVersion
  /// The same, and the daemon ends if a helper asks it to: ``ControlClient/replaceDaemon(until:)``.
  case givesWay
}
