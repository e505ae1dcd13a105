import LatchkeyControl
import LatchkeyGettext
import LatchkeyHistoryControl
import LatchkeyPosix

extension ControlClient {
  /// Runs the work that was begun to its end, and shows its progress. A signal ends the program, and with the connection the
  /// work.
  ///
  /// - Parameter countsGenerations: whether generations are counted, and not items.
  borrowing func goThroughGeneration(countsGenerations: Bool = false) throws {
    let progress = Progress()
    defer { progress.end() }
    while true {
      let state = try ask(GoThroughGeneration(), until: LatchkeyPosix.Process.now + HistoryLimits.answer)
      guard state.hasMore else { return }
      progress.show(Self.progress(state.done, max(state.done, state.total), countsGenerations))
    }
  }

  private static func progress(_ done: UInt64, _ count: UInt64, _ countsGenerations: Bool) -> String {
    countsGenerations
      ? translated("\(done) of \(count) generations") : translated("\(done) of \(count) items")
  }
}
