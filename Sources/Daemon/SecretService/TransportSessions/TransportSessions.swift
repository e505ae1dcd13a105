import LatchkeySystemd

/// The transport sessions of all clients.
///
/// Their number is bounded, because the keys of encrypted sessions are in locked memory. At the limit, the client with the most
/// sessions loses its oldest one. So a client that opens few sessions keeps them.
final class TransportSessions {
  private var sessions: [String: TransportSession] = [:]
  /// The paths of each client's sessions, oldest first.
  private var paths: [String: [String]] = [:]

  /// The most sessions that one client may have. Another session ends the client's oldest one.
  static let limitPerClient = 256
  /// The most sessions of all clients together.
  static let limit = 12_288

  /// Whether there is a session at a path.
  func contains(_ path: String) -> Bool { sessions[path] != nil }

  /// The paths of all sessions.
  var allPaths: [String] { Array(sessions.keys) }

  /// The session at a path, which must belong to the caller.
  func session(_ path: String, of client: String) throws(BusError) -> TransportSession {
    guard let session = sessions[path], session.owner == client else { throw .noSession() }
    return session
  }

  /// Reads the structure Secret of a call; its session must belong to the caller.
  func receiveSecret(_ call: MethodCall) throws(BusError) -> ReceivedSecret {
    try receiveSecret(call.message, of: call.sender)
  }

  /// Reads the structure Secret at the present place of a message.
  func receiveSecret(_ message: Message, of client: String) throws(BusError) -> ReceivedSecret {
    try message.readStruct("oayays") { [self] (fields: Message) throws(BusError) in
      let session = try session(try fields.readObjectPath(), of: client)
      return try session.read(from: fields)
    }
  }

  /// Adds a new session.
  func insert(_ session: TransportSession) {
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

  private func removeOldest(of owner: String) {
    if let path = paths[owner]?.first { remove(path) }
  }

  /// Ends the session at a path.
  func remove(_ path: String) {
    guard let session = sessions.removeValue(forKey: path) else { return }
    paths[session.owner]?.removeAll { $0 == path }
    if paths[session.owner]?.isEmpty == true { paths[session.owner] = nil }
  }

  /// Ends every session of a client.
  func removeAll(of owner: String) {
    for path in paths.removeValue(forKey: owner) ?? [] { sessions[path] = nil }
  }
}
