/// Work that is done later, when no handler of a bus runs. A call to the vault waits for its answer, and a handler of the vault's
/// connection must not wait.
final class Jobs {
  private var waiting: [() -> Void] = []

  func add(_ job: @escaping () -> Void) { waiting.append(job) }

  /// Does all jobs, including jobs that are added meanwhile.
  ///
  /// - Returns: whether there was any job.
  func run() -> Bool {
    guard !waiting.isEmpty else { return false }
    while !waiting.isEmpty {
      let now = waiting
      waiting = []
      for job in now { job() }
    }
    return true
  }
}
