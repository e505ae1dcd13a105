/// The transport sessions of all clients.
///
/// Their number is bounded, because the keys of encrypted ones are in locked memory: where it is reached, the client
/// that has the most loses its oldest. So one client, or many, can only ever drive out sessions of their own kind: who
/// opens few keeps them.
struct TransportSessions {
  private var sessions: [String: TransportSession] = [:]
  /// The paths of each client's sessions, oldest first.
  private var paths: [String: [String]] = [:]

  /// How many one client may have; with one more its oldest goes.
  static let limitPerClient = 256
  /// How many there may be of all clients.
  static let limit = 12_288

  /// The session at a path; nil where there is none.
  subscript(path: String) -> TransportSession? { sessions[path] }

  /// Every path.
  var allPaths: [String] { Array(sessions.keys) }

  /// Takes in a new session.
  mutating func insert(_ session: TransportSession) {
    if paths[session.owner, default: []].count >= TransportSessions.limitPerClient {
      removeOldest(of: session.owner)
    } else if sessions.count >= TransportSessions.limit,
      let owner = paths.max(by: { $0.value.count < $1.value.count })?.key
    {
      removeOldest(of: owner)
    }
    sessions[session.path] = session
    paths[session.owner, default: []].append(session.path)
  }

  private mutating func removeOldest(of owner: String) {
    if let path = paths[owner]?.first { remove(path) }
  }

  /// Ends the session at a path.
  mutating func remove(_ path: String) {
    guard let session = sessions.removeValue(forKey: path) else { return }
    paths[session.owner]?.removeAll { $0 == path }
    if paths[session.owner]?.isEmpty == true { paths[session.owner] = nil }
  }

  /// Ends every session of a client.
  mutating func removeAll(of owner: String) {
    for path in paths.removeValue(forKey: owner) ?? [] { sessions[path] = nil }
  }
}
