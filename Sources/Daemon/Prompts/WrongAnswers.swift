/// Wrong passphrases, counted for each collection and item over all prompts and clients. Many wrong answers cause a pause,
/// because a program may be guessing.
///
/// Passphrases that programs bring are counted apart from typed ones, so that no program can keep a person away from their own
/// item. Nobody sees a program guess, so each series of wrong passphrases doubles the pause, until a right passphrase comes.
struct WrongAnswers {
  /// The collection or item, and whether a program or a person answers.
  struct Target: Hashable {
    let guessed: Question.Guessed
    /// Whether programs bring the answers.
    let isBrought: Bool
  }

  private struct Tries {
    var count = 0
    /// The number of complete series of wrong answers.
    var series = 0
    var end: ContinuousClock.Instant?
  }

  private var tries: [Target: Tries] = [:]

  /// The number of wrong answers in a row that are allowed.
  static let limit = 5
  /// The time for which nobody is asked after so many wrong answers.
  static let pause = Duration.seconds(30)
  /// The most times that the pause is doubled for passphrases that programs bring. The longest pause is 4 hours and a quarter.
  static let doublings = 9

  /// Counts a wrong answer.
  ///
  /// - Returns: whether that was one too many.
  mutating func add(_ target: Target, at now: ContinuousClock.Instant) -> Bool {
    var found = tries[target] ?? Tries()
    found.count += 1
    let isTooMany = found.count >= WrongAnswers.limit
    if isTooMany {
      let doublings = target.isBrought ? min(found.series, WrongAnswers.doublings) : 0
      found = Tries(count: 0, series: found.series + 1, end: now + WrongAnswers.pause * (1 << doublings))
    }
    tries[target] = found
    return isTooMany
  }

  /// Whether the daemon asks nothing about the target now.
  func isPaused(_ target: Target, at now: ContinuousClock.Instant) -> Bool {
    tries[target]?.end.map { now < $0 } ?? false
  }

  /// Notes a right answer.
  mutating func forget(_ target: Target) { tries[target] = nil }
}
