import Glibc

/// A helper thread, for a thread that waits and serves nothing meanwhile. When this object ends, it tells the thread to end, and
/// waits for the thread's end.
public final class SideThread {
  private final class Work: Sendable {
    let body: @Sendable (Int32) -> Void
    let end: Int32

    init(_ body: @escaping @Sendable (Int32) -> Void, end: Int32) {
      self.body = body
      self.end = end
    }
  }

  private let end: FileDescriptor
  private let ending: FileDescriptor
  private var thread = pthread_t()

  /// Starts the thread; nil if the system has no thread left.
  ///
  /// - Parameter body: gets a descriptor that becomes and stays readable when the thread must end.
  public init?(_ body: @escaping @Sendable (Int32) -> Void) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    end = FileDescriptor(owning: ends[0])
    ending = FileDescriptor(owning: ends[1])
    for number in ends { _ = fcntl(number, F_SETFD, FD_CLOEXEC) }
    let work = Unmanaged.passRetained(Work(body, end: ends[0]))
    let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { argument in
      guard let argument else { return nil }
      let work = Unmanaged<Work>.fromOpaque(argument).takeRetainedValue()
      let memory = SideThread.makeSignalStack()
      work.body(work.end)
      SideThread.drop(signalStack: memory)
      return nil
    }
    guard pthread_create(&thread, nil, run, work.toOpaque()) == 0 else {
      work.release()
      thread = 0
      return nil
    }
  }

  /// The signal handler that erases secrets needs a stack of its own on each thread, because an endless recursion leaves no room on
  /// the usual one.
  private static let signalStackSize = 65536

  private static func makeSignalStack() -> UnsafeMutableRawPointer? {
    let memory = mmap(
      nil, signalStackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)
    guard let memory, memory != UnsafeMutableRawPointer(bitPattern: -1) else { return nil }
    var stack = stack_t()
    (stack.ss_sp, stack.ss_size) = (memory, signalStackSize)
    guard sigaltstack(&stack, nil) == 0 else {
      munmap(memory, signalStackSize)
      return nil
    }
    return memory
  }

  private static func drop(signalStack memory: UnsafeMutableRawPointer?) {
    guard let memory else { return }
    var none = stack_t()
    none.ss_flags = Int32(SS_DISABLE)
    if sigaltstack(&none, nil) == 0 { munmap(memory, signalStackSize) }
  }

  deinit {
    guard thread != 0 else { return }
    var word: UInt8 = 1
    write(ending.number, &word, 1)
    pthread_join(thread, nil)
  }
}
