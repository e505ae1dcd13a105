import LatchkeyKeybag

/// The generations of the vault, as far as its keys and its changes of keys decide about them.
extension Vault {
  /// Whether a generation may be made now. The database must be whole, and no change of keys may be under way, because a change of
  /// keys removes all earlier generations.
  public var mayKeepGeneration: Bool {
    isUnlocked && isVerified && !isDamaged && !rotation.isUnderWay && rotation.isThrough
  }

  /// Whether ``keepHistory()`` has anything to do now.
  public var hasHistoryWork: Bool { history.hasWork(epoch: rotation.epoch, mayMake: mayKeepGeneration) }

  /// Does a small piece of the work on generations. It makes a generation if the last generation is an hour old and something
  /// changed since. It removes generations that are too many or too old, and generations from before the last rotation.
  ///
  /// A failure costs only a generation.
  ///
  /// - Returns: whether there is more to do.
  public func keepHistory() -> Bool { history.step(epoch: rotation.epoch, mayMake: mayKeepGeneration) }
}
