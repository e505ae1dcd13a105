import CLatchkeyAdwaita

/// The thread of the window. Only this thread may use the rest of this module.
public enum MainThread {
  private final class Work: Sendable {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private static let run: GSourceFunc = { data in
    if let data { Unmanaged<Work>.fromOpaque(data).takeUnretainedValue().body() }
    return 0
  }
  private static let release: GDestroyNotify = { data in
    if let data { Unmanaged<Work>.fromOpaque(data).release() }
  }

  /// Runs `body` on the thread of the window, from any thread, and does not wait until `body` has run.
  public static func perform(_ body: @escaping @Sendable () -> Void) {
    g_idle_add_full(Int32(G_PRIORITY_DEFAULT), run, Unmanaged.passRetained(Work(body)).toOpaque(), release)
  }
}

/// Work that the window's thread does later. If this object is freed before, the work is not done.
public final class Timer {
  private final class Work {
    let body: () -> Void
    let isRepeated: Bool
    var isOver = false
    init(_ body: @escaping () -> Void, isRepeated: Bool) { (self.body, self.isRepeated) = (body, isRepeated) }
  }

  private let work: Work
  private var source: guint = 0

  /// Calls `body` after this number of milliseconds, once or repeatedly.
  public init(milliseconds: UInt32, repeating: Bool = false, _ body: @escaping () -> Void) {
    work = Work(body, isRepeated: repeating)
    source = g_timeout_add_full(
      Int32(G_PRIORITY_DEFAULT), milliseconds,
      { data in
        guard let data else { return 0 }
        let work = Unmanaged<Work>.fromOpaque(data).takeUnretainedValue()
        if !work.isRepeated { work.isOver = true }
        work.body()
        return work.isRepeated ? 1 : 0
      }, Unmanaged.passRetained(work).toOpaque(),
      { data in if let data { Unmanaged<Work>.fromOpaque(data).release() } })
  }

  deinit { if !work.isOver { g_source_remove(source) } }
}
