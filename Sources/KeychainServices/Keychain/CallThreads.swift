import Foundation
import Synchronization

/// Threads for calls that wait: for the vault, or for minutes if it prompts a person.
///
/// They are not the threads that Swift's tasks share, because there are only as many of those as processors. Nor are they
/// from Dispatch's pool, which the rest of the program may need meanwhile.
final class CallThreads: Sendable {
  private struct State {
    var threads = 0
    var waiting: [@Sendable () -> Void] = []
  }

  static let shared = CallThreads(most: 64)

  private let most: Int
  private let state = Mutex(State())

  /// - Parameter most: How many threads there are at the same time. Calls beyond that wait for their turn.
  init(most: Int) { self.most = most }

  /// How many there are now. They end when no call waits.
  var count: Int { state.withLock { $0.threads } }

  /// Runs a call on such a thread.
  ///
  /// - Throws: The error of the call; ``KeychainError/cancelled`` if the task is cancelled already. A call that began is not
  ///   interrupted, because it would then be unknown whether it was carried out.
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

  /// Runs calls until none waits.
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
