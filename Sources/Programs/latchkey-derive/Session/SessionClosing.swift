/// The end of a session.
struct SessionClosing: Operation {
  private let run: Run

  init(_ run: Run) { self.run = run }

  func perform() throws -> DeriveResult {
    _ = try run.daemon.greet(try run.daemon.client(), .closeSession)
    return .closed
  }
}
