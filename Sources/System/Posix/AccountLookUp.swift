import Glibc

/// Looks an account up by its number without blocking. A directory service may answer, and take minutes.
///
/// A separate thread does the look-up. It shares only a pipe with other threads, and no thread waits for it if it is slow.
public struct AccountLookUp: ~Copyable {
  private let answered: FileDescriptor

  /// The input of the thread.
  private final class Order: Sendable {
    let uid: uid_t
    let pipe: Int32

    init(uid: uid_t, pipe: Int32) { (self.uid, self.pipe) = (uid, pipe) }
  }

  /// Begins the look-up.
  public init(uid: uid_t) throws(PosixError) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw PosixError("pipe") }
    let answered = FileDescriptor(owning: ends[0])
    let order = Unmanaged.passRetained(Order(uid: uid, pipe: ends[1]))
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
    defer { pthread_attr_destroy(&attributes) }
    var thread = pthread_t()
    let error = pthread_create(&thread, &attributes, AccountLookUp.body, order.toOpaque())
    guard error == 0 else {
      order.release()
      close(ends[1])
      throw PosixError("pthread_create", code: error)
    }
    self.answered = answered
  }

  private static let body: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { pointer in
    guard let pointer else { return nil }
    let order = Unmanaged<Order>.fromOpaque(pointer).takeRetainedValue()
    let pipe = FileDescriptor(owning: order.pipe)
    // The name after one byte, so that "no account" differs from "no answer". The kernel writes so little in one piece.
    let answer = [1] + (Account(uid: order.uid).map { Array($0.name.utf8.prefix(AccountLookUp.nameLimit)) } ?? [])
    _ = write(pipe.number, answer, answer.count)
    return nil
  }

  /// The longest name that Linux allows, in bytes.
  private static let nameLimit = 256

  /// The login name of that account, empty without such an account; nil if the answer does not come within `limit` milliseconds.
  public borrowing func answer(within limit: Int32) -> String? {
    var item = pollfd(fd: answered.number, events: Int16(POLLIN), revents: 0)
    guard poll(&item, 1, limit) > 0 else { return nil }
    var answer = [UInt8](repeating: 0, count: 1 + AccountLookUp.nameLimit)
    let size = read(answered.number, &answer, answer.count)
    guard size > 0 else { return nil }
    return String(decoding: answer[1..<size], as: UTF8.self)
  }
}
