import Foundation
import Synchronization

/// Threads for calls that wait for the vault, which may take minutes if the vault prompts a person.
///
/// Swift's tasks share only as many threads as there are processors, so waiting calls must not use those. The rest of the program
/// may need the threads of Dispatch's pool meanwhile. So waiting calls have their own threads.
final class CallThreads: Sendable {
  private struct State {
    var threads = 0
    var waiting: [@Sendable () -> Void] = []
  }

  static let shared = CallThreads(most: 64)

  private let most: Int
  private let state = Mutex(State())

  /// - Parameter most: The most threads at one time. Further calls wait for their turn.
  init(most: Int) { self.most = most }

  /// How many threads there are now. A thread ends when no call waits.
  var count: Int { state.withLock { $0.threads } }

  /// Runs a call on one of these threads.
  ///
  /// - Throws: The error of the call; ``KeychainError/cancelled`` if the task is already cancelled. A call that has begun is not
  ///   interrupted, because nobody would know whether the vault did it.
  func run<Value: Sendable>(
    _ call: @escaping @Sendable () throws(KeychainError) -> Value
  ) async throws(KeychainError) -> Value {
    guard !Task.isCancelled else { throw .cancelled }
    let result: Result<Value, KeychainError> = await withCheckedContinuation { continuation in
      start { continuation.resume(returning: Result(catching: call)) }
    }
    return try result.get()
  }

  private func start(_ call: @escaping @Sendable () -> Void) {
    let isThreadNeeded = state.withLock { state in
      state.waiting.append(call)
      guard state.threads < most else { return false }
      state.threads += 1
      return true
    }
    if isThreadNeeded { Thread.detachNewThread { self.work() } }
  }

  /// Runs calls until no call waits.
  private func work() {
    while let call = next() { call() }
  }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.threads -= 1
        return nil
      }
      return state.waiting.removeFirst()
    }
  }
}
