import Glibc
import LatchkeyPosix
import Synchronization

/// A thread with its own connection to the vault, so that the window never waits for the vault. The thread does its work in the
/// order in which the work came.
final class VaultThread: Sendable {
  private typealias Job = @Sendable (VaultLink) -> Void

  /// The waiting work, and the two ends of a pipe that wakes the thread.
  private final class Desk: Sendable {
    let jobs = Mutex<[Job]>([])
    let (ear, bell): (Int32, Int32)

    init() {
      guard let pipe = WakingPipe() else { preconditionFailure("no descriptor is left") }
      pipe.neverWait()
      (ear, bell) = (pipe.reading, pipe.writing)
    }

    func put(_ job: @escaping Job) {
      jobs.withLock { $0.append(job) }
      var word: UInt8 = 1
      write(bell, &word, 1)
    }

    func takeAll() -> [Job] {
      var words = [UInt8](repeating: 0, count: 64)
      while read(ear, &words, words.count) > 0 {}
      return jobs.withLock { jobs in
        let all = jobs
        jobs = []
        return all
      }
    }
  }

  private let desk = Desk()
  private let thread = Mutex(Handed<SideThread?>(value: nil))

  /// Starts the thread. Earlier work has waited for this.
  ///
  /// - Parameter listener: gets the news of the vault; nil if the thread needs a connection only for work.
  func start(listener: OnMainThread<VaultNews>? = nil) {
    let desk = desk
    let body: @Sendable (Int32) -> Void = { _ in VaultThread.work(at: desk, listener) }
    let new = Handed(value: SideThread(body))
    thread.withLock { $0 = new }
  }

  private static func work(at desk: Desk, _ listener: OnMainThread<VaultNews>?) {
    var heard: (@Sendable (VaultNews) -> Void)?
    if let listener { heard = { news in listener(news) } }
    let link = VaultLink(ear: desk.ear, listener: heard)
    while true {
      for job in desk.takeAll() { job(link) }
      link.rest()
    }
  }

  /// Calls `work` on this thread, and then `then` on the window's thread.
  func perform<Value: Sendable>(
    _ work: @escaping @Sendable (VaultLink) throws(Problem) -> Value, then: @escaping (Result<Value, Problem>) -> Void
  ) {
    let reply = OnMainThread(then)
    desk.put { link in
      do throws(Problem) { reply(.success(try work(link))) } catch { reply(.failure(error)) }
    }
  }
}
