import Control

/// Which client's question comes next, and which clients have had enough: one that asks for very much keeps no other from
/// being answered, and a person who declines again and again is left in peace.
struct Turns {
  private struct Record {
    /// Its place: the lower, the sooner it is its turn. Whoever was shown at a turn has an odd one, above all that came
    /// until then and below all that come later.
    var place: UInt64 = 0
    /// How many were declined in a row, and when the last one was.
    var declined = 0
    var lastDecline: ContinuousClock.Instant?
  }

  private var records: [String: Record] = [:]
  private var turn: UInt64 = 0

  /// How many questions of one client may wait, and of all.
  static let waitingLimit = (own: 64, all: 1024)
  /// After how many that were declined in a row a client is not heard,
  static let declineLimit = 3
  /// and how long.
  static let silence = Duration.seconds(60)

  /// The client asks: one that comes now stands behind those that wait already, as names cost nothing.
  mutating func arrive(_ client: String) {
    if records[client] == nil { records[client] = Record(place: 2 * turn) }
  }

  /// The client's place: the lower, the sooner it is its turn. Questions that serve many clients take turns as one client
  /// does.
  func place(_ client: String?) -> UInt64 { records[client ?? ""]?.place ?? 0 }

  /// One of its questions is shown.
  mutating func show(_ client: String?) {
    turn += 1
    records[client ?? "", default: Record()].place = 2 * turn + 1
  }

  /// One of its questions came to its end. Where nobody was asked, nobody was bothered.
  mutating func end(_ client: String, _ outcome: PromptOutcome, at now: ContinuousClock.Instant) {
    switch outcome {
    case .accepted: records[client]?.declined = 0
    case .dismissed, .refused:
      records[client, default: Record()].declined += 1
      records[client]?.lastDecline = now
    case .unavailable: break
    }
  }

  /// Whether the client has to wait until it may ask again.
  func isSilenced(_ client: String, at now: ContinuousClock.Instant) -> Bool {
    guard let record = records[client], record.declined >= Turns.declineLimit, let last = record.lastDecline else {
      return false
    }
    return now - last < Turns.silence
  }

  /// The client guesses: it is not heard for a while.
  mutating func silence(_ client: String, at now: ContinuousClock.Instant) {
    records[client, default: Record()].declined = Turns.declineLimit
    records[client]?.lastDecline = now
  }

  /// The client is gone.
  mutating func forget(_ client: String) { records[client] = nil }

  /// Every client is gone: what comes under their names later is somebody else.
  mutating func forgetAll() { records = [:] }
}
