import LatchkeyAdwaita

/// A closure that other threads carry, but that only the window's thread calls. The closure may hold parts of the window. These
/// parts live as long as the program, so no other thread ever frees them.
struct OnMainThread<Value: Sendable>: @unchecked Sendable {
  private let body: (Value) -> Void

  init(_ body: @escaping (Value) -> Void) { self.body = body }

  /// Calls the closure on the window's thread.
  func callAsFunction(_ value: Value) {
    MainThread.perform { self.body(value) }
  }
}

/// A value that one thread hands to another one, and itself uses no longer.
struct Handed<Value>: @unchecked Sendable {
  let value: Value
}
