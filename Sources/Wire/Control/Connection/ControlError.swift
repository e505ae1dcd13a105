import LatchkeyReasons

/// The reason why the daemon gave no answer.
public enum ControlError: Error, Equatable, Sendable {
  /// No daemon listens.
  case noDaemon
  /// A program of another user than this one or root listens at the socket.
  case strangeDaemon
  /// No answer came in time.
  case silent
  /// The connection ended, or this version does not understand the answer.
  case broken
  /// The daemon declined for this reason.
  case declined(Reason)
  /// The daemon has another version, because it was started before an upgrade of the package.
  case otherVersion
  /// The daemon has another version, and will end if a helper asks it to: ``ControlClient/replaceDaemon(until:)``.
  case givesWay
}
