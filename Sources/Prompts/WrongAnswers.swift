/// Wrong passphrases, counted for each collection and item over all prompts and clients: whoever tries many has to wait, as
/// what asks may be a program that guesses.
struct WrongAnswers {
  private struct Tries {
    var count = 0
    var end: ContinuousClock.Instant?
  }

  private var tries: [Question.Guessed: Tries] = [:]

  /// How many in a row are taken.
  static let limit = 5
  /// How long nothing is asked after that.
  static let pause = Duration.seconds(30)

  /// Counts one.
  ///
  /// - Returns: whether that was one too many.
  mutating func add(_ guessed: Question.Guessed, at now: ContinuousClock.Instant) -> Bool {
    var found = tries[guessed] ?? Tries()
    found.count += 1
    let isTooMany = found.count >= WrongAnswers.limit
    if isTooMany { found = Tries(count: 0, end: now + WrongAnswers.pause) }
    tries[guessed] = found
    return isTooMany
  }

  /// Whether nothing is asked about it now.
  func isPaused(_ guessed: Question.Guessed, at now: ContinuousClock.Instant) -> Bool {
    tries[guessed]?.end.map { now < $0 } ?? false
  }

  /// It was answered rightly.
  mutating func forget(_ guessed: Question.Guessed) { tries[guessed] = nil }
}
