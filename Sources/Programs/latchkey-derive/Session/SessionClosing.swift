/// The end of a session.
struct SessionClosing {
  let run: Run

  func perform() throws -> DeriveResult {
    _ = try run.daemon.greet(try run.daemon.client(), .closeSession)
    return .closed
  }
}
