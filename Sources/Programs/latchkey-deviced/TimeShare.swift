/// A user's share of the service's time: one second at first, and then a tenth of the time that passes.
struct TimeShare {
  private static let most = Duration.seconds(1)
  private static let part = 10

  private var left = TimeShare.most
  private var since: ContinuousClock.Instant
  private let least: Duration

  /// - Parameter longestPause: no user waits longer than this for new time.
  init(longestPause: Duration, at now: ContinuousClock.Instant) {
    least = .zero - longestPause / TimeShare.part
    since = now
  }

  private func left(at now: ContinuousClock.Instant) -> Duration {
    min(TimeShare.most, left + since.duration(to: now) / TimeShare.part)
  }

  /// How long the user must wait for new time; zero if some is left.
  func pause(at now: ContinuousClock.Instant) -> Duration {
    let left = left(at: now)
    return left >= .zero ? .zero : (.zero - left) * TimeShare.part
  }

  /// Whether the user's share is unused.
  func isWhole(at now: ContinuousClock.Instant) -> Bool { left(at: now) == TimeShare.most }

  /// Uses up some of the share.
  mutating func take(_ time: Duration, at now: ContinuousClock.Instant) {
    left = max(least, left(at: now) - time)
    since = now
  }
}
