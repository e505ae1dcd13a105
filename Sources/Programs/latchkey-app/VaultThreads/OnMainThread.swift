import LatchkeyAdwaita

/// A closure of the window's thread that other threads carry, and only that thread calls. It may hold what belongs to the window:
/// that lives as long as the program, so the last reference is never another thread's.
struct OnMainThread<Value: Sendable>: @unchecked Sendable {
  private let body: (Value) -> Void

  init(_ body: @escaping (Value) -> Void) { self.body = body }

  /// Calls it, on the window's thread.
  func callAsFunction(_ value: Value) {
    MainThread.perform { self.body(value) }
  }
}

/// A value that one thread hands to another one, and uses no longer.
struct Handed<Value>: @unchecked Sendable {
  let value: Value
}
