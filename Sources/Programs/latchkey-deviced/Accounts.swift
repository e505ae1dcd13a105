import Glibc
import LatchkeyPosix

/// Which user numbers have an account. A look-up may reach a directory service and take long, so answers are kept for a
/// moment, the negative ones too, and only so much time goes into look-ups.
final class Accounts {
  private struct Answer {
    let hasAccount: Bool
    let end: ContinuousClock.Instant
  }
  private let clock = ContinuousClock()
  private var answers: [uid_t: Answer] = [:]
  private var share = TimeShare(longestPause: .seconds(30), at: ContinuousClock().now)

  /// How long an answer is kept: an administrator who just made an account should not have to wonder.
  private static let answerTime = Duration.seconds(10)
  /// More are not kept.
  private static let answerLimit = 1024

  /// Whether there is time left for a look-up that nobody needs to have an answer for.
  var mayLookUp: Bool { share.pause(at: clock.now) == .zero }

  /// Whether a number has an account.
  func contains(_ user: uid_t) -> Bool {
    let start = clock.now
    if let answer = answers[user], answer.end > start { return answer.hasAccount }
    let hasAccount = Account(uid: user) != nil
    let end = clock.now
    share.take(start.duration(to: end), at: end)
    if answers.count >= Accounts.answerLimit { answers = [:] }
    answers[user] = Answer(hasAccount: hasAccount, end: end + Accounts.answerTime)
    return hasAccount
  }
}
