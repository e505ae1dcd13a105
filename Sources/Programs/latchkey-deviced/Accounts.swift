import Glibc
import LatchkeyPosix

/// Which user numbers have an account. A look-up may reach a directory service and take long. So the service waits only a moment
/// for a look-up, keeps answers for a while, negative ones too, and limits the time for look-ups.
final class Accounts {
  private struct Answer {
    /// The login name; empty if there is no account.
    let name: String
    var hasAccount: Bool { !name.isEmpty }
    let end: ContinuousClock.Instant
  }
  /// A look-up that took longer than the service waits.
  private final class Slow {
    let user: uid_t
    let lookUp: AccountLookUp

    init(_ user: uid_t, _ lookUp: consuming AccountLookUp) {
      self.user = user
      self.lookUp = lookUp
    }
  }
  private let clock = ContinuousClock()
  private var answers: [uid_t: Answer] = [:]
  private var share = TimeShare(longestPause: .seconds(30), at: ContinuousClock().now)
  private var slow: [Slow] = []

  /// How long an answer is kept: an administrator expects a new account to work soon.
  private static let answerTime = Duration.seconds(10)
  /// The most answers that are kept.
  private static let answerLimit = 1024
  /// How long to wait for one look-up, in milliseconds. No other user is served meanwhile.
  private static let timeout: Int32 = 100
  /// While so many look-ups take longer, no other user is looked up.
  private static let slowLimit = 4

  /// Whether there is time left for a look-up without hurry.
  var mayLookUp: Bool { share.pause(at: clock.now) == .zero }

  /// Whether a number has an account; nil if that is unknown yet.
  func contains(_ user: uid_t) -> Bool? {
    takeAnswers()
    let start = clock.now
    if let answer = answers[user], answer.end > start { return answer.hasAccount }
    guard slow.count < Accounts.slowLimit, !slow.contains(where: { $0.user == user }),
      let lookUp = try? AccountLookUp(uid: user)
    else { return nil }
    let name = lookUp.answer(within: Accounts.timeout)
    share.take(start.duration(to: clock.now), at: clock.now)
    if let name { keep(name, of: user) } else { slow.append(Slow(user, lookUp)) }
    return name.map { !$0.isEmpty }
  }

  /// The login name of a user; nil if there is no such user, or if the answer is not known yet.
  func name(of user: uid_t) -> String? { contains(user) == true ? answers[user]?.name : nil }

  /// Notes the answers that came meanwhile.
  private func takeAnswers() {
    slow.removeAll { slow in
      guard let name = slow.lookUp.answer(within: 0) else { return false }
      keep(name, of: slow.user)
      return true
    }
  }

  private func keep(_ name: String, of user: uid_t) {
    if answers.count >= Accounts.answerLimit { answers = [:] }
    answers[user] = Answer(name: name, end: clock.now + Accounts.answerTime)
  }
}
