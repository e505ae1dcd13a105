import LatchkeySystemd
import Testing

@testable import LatchkeySecretService

@Suite("Transport sessions") struct TransportSessionsTests {
  private let sessions = TransportSessions()

  private func open(_ path: String, for client: String) {
    sessions.insert(TransportSession(path: path, owner: client, cipher: nil))
  }

  @Test("Transport sessions belong to the client that opened them")
  func owner() throws {
    open("/a", for: ":1.1")
    #expect(try sessions.session("/a", of: ":1.1").path == "/a")
    for (path, client) in [("/a", ":1.2"), ("/b", ":1.1")] {
      #expect(throws: BusError.noSession()) { try sessions.session(path, of: client) }
    }
    sessions.removeAll(of: ":1.1")
    #expect(!sessions.contains("/a"))
  }

  @Test("A client with too many sessions loses its own oldest")
  func limit() {
    open("/other", for: ":1.2")
    for number in 0...TransportSessions.limitPerClient { open("/s\(number)", for: ":1.1") }
    #expect(!sessions.contains("/s0") && sessions.contains("/s1") && sessions.contains("/other"))
    #expect(sessions.allPaths.count == TransportSessions.limitPerClient + 1)
  }
}
