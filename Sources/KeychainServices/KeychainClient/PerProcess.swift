import Glibc
import Synchronization

/// A value that only one thread at a time can use, and that a process does not share with its children. After a fork the child
/// starts without the value, even if another thread of the parent was using it at that moment.
///
/// The lock is a pthread mutex, because `Mutex` remembers the number of a thread, and a fork changes this number.
final class PerProcess<Value>: @unchecked Sendable {
  /// The value of one process. A child never frees its copy of the parent's object, because another thread may just be about to use
  /// it.
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

  /// Lends the value to `body`. If it is nil, `body` may make one.
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
    // `found` is this process's copy of the parent's value. If a thread was using the value at the fork, its state is unknown, and
    // this leaves it alone. Otherwise this frees the copy, which closes the copies of its descriptors.
    if let found, pthread_mutex_trylock(found.lock) == 0 { found.value = nil }
    return made.takeUnretainedValue()
  }
}
