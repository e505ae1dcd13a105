import Foundation
import Synchronization
import Testing

@testable import LatchkeyKeychain

@Suite("Calls from tasks", .timeLimit(.minutes(20)))
struct AsyncTests {
  private let vault = Vault()

  @Test("Every call exists for tasks, with the same outcome")
  func life() async throws {
    let keychain = vault.keychain()
    try await keychain.set("one", for: "anna")
    #expect(try await keychain.getString("anna") == "one")
    try await keychain.set(Data([1]), for: "anna")
    let secret = try await keychain.get("anna")
    #expect(secret == Data([1]))
    #expect(try await keychain.contains("anna"))
    #expect(try await keychain.accounts() == ["anna"])
    try await keychain.delete("anna")
    do throws(KeychainError) {
      try await keychain.delete("anna")
      Issue.record("it was deleted twice")
    } catch {
      #expect(error == .notFound)
    }
  }

  @Test("A cancelled task begins no call")
  func cancelled() async throws {
    let keychain = vault.keychain()
    let task = Task { () -> KeychainError? in
      withUnsafeCurrentTask { $0?.cancel() }
      do throws(KeychainError) {
        try await keychain.set("x", for: "anna")
        return nil
      } catch {
        return error
      }
    }
    #expect(await task.value == .cancelled)
    #expect(vault.store.items.isEmpty)
  }

  @Test("A call that has begun finishes even if its task is cancelled, and the task learns of the cancellation")
  func cancelledMeanwhile() async throws {
    let began = DispatchSemaphore(value: 0)
    let gate = DispatchSemaphore(value: 0)
    let calls = vault.calls(beforeUpdate: {
      began.signal()
      gate.wait()
    })
    let keychain = vault.keychain(calls: calls)
    let task = Task { try await keychain.set("x", for: "anna") }
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        began.wait()
        continuation.resume()
      }
    }
    task.cancel()
    gate.signal()
    try await task.value
    #expect(vault.store.items.count == 1)
  }

  @Test("More waiting calls than processors block no task")
  func waiting() async throws {
    let gate = DispatchSemaphore(value: 0)
    let began = Mutex(0)
    let calls = vault.calls(beforeUpdate: {
      began.withLock { $0 += 1 }
      gate.wait()
    })
    let keychain = vault.keychain(calls: calls)
    let count = ProcessInfo.processInfo.processorCount * 2
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<count { group.addTask { try await keychain.set("x", for: "\(number)") } }
      // If the calls blocked the threads of tasks, this loop would never end.
      while began.withLock({ $0 }) < count {
        try Task.checkCancellation()
        await Task.yield()
      }
      for _ in 0..<count { gate.signal() }
      try await group.waitForAll()
    }
    #expect(vault.store.items.count == count)
  }

  /// The number of running calls.
  private final class Running: Sendable {
    private let state = Mutex((now: 0, most: 0, calls: 0))

    var seen: (now: Int, most: Int, calls: Int) { state.withLock { $0 } }

    func begin() {
      state.withLock {
        $0.now += 1
        $0.calls += 1
        $0.most = max($0.most, $0.now)
      }
    }

    func end() { state.withLock { $0.now -= 1 } }
  }

  @Test("There are no more threads than allowed, and every call has its turn")
  func turns() async throws {
    let threads = CallThreads(most: 3)
    let running = Running()
    for _ in 0..<2 {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<200 {
          group.addTask {
            try await threads.run {
              running.begin()
              sched_yield()
              running.end()
            }
          }
        }
        try await group.waitForAll()
      }
      while threads.count > 0 {
        try Task.checkCancellation()
        await Task.yield()
      }
    }
    #expect(running.seen.calls == 400)
    #expect(running.seen.most <= 3)
  }
}
