import Glibc
import LatchkeyPosix

/// Which user numbers have an account. A look-up may reach a directory service and take long. So the service waits only a moment
/// for a look-up, and limits the time of all look-ups. It keeps every answer for a while, even "no account".
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

  /// How long an answer is kept. The time is short, because an administrator expects a new account to work soon.
  private static let answerTime = Duration.seconds(10)
  /// The most answers that are kept.
  private static let answerLimit = 1024
  /// How long to wait for one look-up, in milliseconds. The service serves no other user during this time.
  private static let timeout: Int32 = 100
  /// While so many slow look-ups are running, the service starts no other.
  private static let slowLimit = 4

  /// Whether look-ups have used less than their share of the service's time.
  var mayLookUp: Bool { share.pause(at: clock.now) == .zero }

  /// Whether a user number has an account; nil if no answer has come yet.
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

  /// Keeps the answers of slow look-ups that have ended.
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
