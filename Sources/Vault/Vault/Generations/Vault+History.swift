import LatchkeyKeybag

/// The generations of the vault, as far as its keys and its changes of keys decide about them.
extension Vault {
  /// Whether a generation may be made now: of a database that is whole, and while no change of keys is under way, of which nothing
  /// former is to be kept.
  public var mayKeepGeneration: Bool {
    isUnlocked && isVerified && !isDamaged && !rotation.isUnderWay && rotation.isThrough
  }

  /// Whether ``keepHistory()`` has anything to do now.
  public var hasHistoryWork: Bool { history.hasWork(epoch: rotation.epoch, mayMake: mayKeepGeneration) }

  /// Does a small piece of the work on generations. It makes one if the last is an hour old and something changed since. It
  /// removes those that are too many or too old, and those from before the last rotation.
  ///
  /// A failure costs a generation and nothing else.
  ///
  /// - Returns: whether there is more to do.
  public func keepHistory() -> Bool { history.step(epoch: rotation.epoch, mayMake: mayKeepGeneration) }
}
