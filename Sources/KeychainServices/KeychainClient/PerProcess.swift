import Glibc
import Synchronization

/// A value that one thread at a time can use, and that a process does not share with its children. After a fork the child
/// starts without it, even if other threads of the parent used it at that moment.
///
/// The lock is pthread's: `Mutex` remembers the number of a thread, which a fork changes.
final class PerProcess<Value>: @unchecked Sendable {
  /// The value of one process. A child never frees its copy of its parent's value, because another thread may be on its way
  /// into it.
  private final class Place: @unchecked Sendable {
    let process = getpid()
    let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    var value: Value?

    init() {
      lock.initialize(to: pthread_mutex_t())
      pthread_mutex_init(lock, nil)
    }

    deinit {
      pthread_mutex_destroy(lock)
      lock.deallocate()
    }
  }

  private let current = Atomic<UnsafeMutableRawPointer?>(nil)

  deinit {
    guard let pointer = current.load(ordering: .acquiring) else { return }
    Unmanaged<Place>.fromOpaque(pointer).release()
  }

  /// Lends the value. If it is nil, the body may make one.
  func withValue<Result, Failure: Error>(_ body: (inout Value?) throws(Failure) -> Result) throws(Failure) -> Result {
    let place = place()
    pthread_mutex_lock(place.lock)
    defer { pthread_mutex_unlock(place.lock) }
    return try body(&place.value)
  }

  private func place() -> Place {
    let former = current.load(ordering: .acquiring)
    let found = former.map { Unmanaged<Place>.fromOpaque($0).takeUnretainedValue() }
    if let found, found.process == getpid() { return found }
    let made = Unmanaged.passRetained(Place())
    guard
      current.compareExchange(expected: former, desired: made.toOpaque(), ordering: .acquiringAndReleasing).exchanged
    else {
      made.release()
      return place()
    }
    // The parent's value, of which this process has a copy. If a thread was using it at the fork, its state is unknown, and it
    // is left alone. Otherwise the copy ends here, with the copies of its descriptors.
    if let found, pthread_mutex_trylock(found.lock) == 0 { found.value = nil }
    return made.takeUnretainedValue()
  }
}
