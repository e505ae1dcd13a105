/// Work that waits until no handler of a bus runs. Calls to the vault wait for their answer, and a handler of the vault's own
/// connection must not wait.
final class Jobs {
  private var waiting: [() -> Void] = []

  func add(_ job: @escaping () -> Void) { waiting.append(job) }

  /// Does all jobs, even those that are added meanwhile.
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
