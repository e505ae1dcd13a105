import CLatchkeyLinux
import Glibc

/// The measures that a process takes before it touches a secret or a user's files.
public enum Process {
  /// No core dump, and no tracing or memory reading by other processes of the same user. ``become(_:)`` preserves this.
  public static func forbidInspection() throws(PosixError) {
    try forbidCoreDumps()
    guard linux_set_dumpable(0) == 0 else { throw PosixError("prctl") }
  }

  /// No core dump, of this process or of programs that it starts.
  public static func forbidCoreDumps() throws(PosixError) {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    guard setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0 else { throw PosixError("setrlimit") }
  }

  /// Starts no other program from now on, gains no right, and stays within these bounds.
  ///
  /// - Parameters:
  ///   - seconds: the time for which the process may compute.
  ///   - fileSize: the largest file that the process may write, in bytes.
  public static func forbidMore(seconds: UInt64, fileSize: UInt64) throws(PosixError) {
    guard linux_forbid_new_rights() == 0 else { throw PosixError("prctl") }
    let computing = Int32(bitPattern: RLIMIT_CPU.rawValue)
    let writing = Int32(bitPattern: RLIMIT_FSIZE.rawValue)
    for (resource, value) in [(linux_limit_of_processes, 0), (computing, seconds), (writing, fileSize)] {
      guard linux_lower_limit(0, resource, value) == 0 else { throw PosixError("setrlimit") }
    }
  }

  /// Overwrites freed memory from now on, except for small pieces that a thread keeps for itself.
  ///
  /// This is for libraries whose buffers grow. They erase the last buffer, but realloc does not erase the former ones. The daemon's
  /// unit does the same with GLIBC_TUNABLES, for small pieces too. This call works without the unit.
  public static func overwriteFreedMemory() {
    // A failure would change nothing, and glibc's call never fails.
    _ = linux_overwrite_freed(0xAA)
  }

  /// Gives the pages of freed memory back to the system. The allocator would keep the pages between pieces that are still in use.
  public static func returnFreedMemory() { malloc_trim(0) }

  /// From now on, this process is killed when the process that started it ends. Call again after ``become(_:)``, which resets it.
  public static func dieWithParent() throws(PosixError) {
    guard linux_set_death_signal(SIGKILL) == 0 else { throw PosixError("prctl") }
  }

  /// From now on, this process gets SIGTERM when the process that started it ends. The signal leaves time to erase secrets in
  /// memory. Call again after ``become(_:)``, which resets it.
  public static func endWithParent() throws(PosixError) {
    guard linux_set_death_signal(SIGTERM) == 0 else { throw PosixError("prctl") }
  }

  /// Becomes `account` for good: supplementary groups, group, user, each verified.
  ///
  /// A process that is not root only verifies that it already runs as that account.
  ///
  /// - Throws: ``PosixError`` with `EPERM` when the process is not, and cannot become, the account.
  public static func become(_ account: Account) throws(PosixError) {
    if geteuid() == 0 && account.uid != 0 {
      let inspectable = linux_dumpable() != 0
      guard initgroups(account.name, account.gid) == 0 else { throw PosixError("initgroups") }
      guard setresgid(account.gid, account.gid, account.gid) == 0 else { throw PosixError("setresgid") }
      guard setresuid(account.uid, account.uid, account.uid) == 0 else { throw PosixError("setresuid") }
      // A change of user resets the process to fs.suid_dumpable, which lets root's core handler read the secrets.
      if !inspectable { try forbidInspection() }
    }
    var real: uid_t = 0
    var effective: uid_t = 0
    var saved: uid_t = 0
    guard getresuid(&real, &effective, &saved) == 0, effective == account.uid,
      account.uid == 0 || (real == account.uid && saved == account.uid && setuid(0) != 0)
    else { throw PosixError("setresuid", code: EPERM) }
  }

  /// The folder of this program's file.
  public static var folder: String {
    var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    let path = String(decoding: buffer.prefix(max(count, 0)), as: UTF8.self)
    return String(path[..<(path.lastIndex(of: "/") ?? path.startIndex)])
  }

  /// From now on, a write to a pipe that nobody reads is an error, and no longer ends the process.
  public static func ignoreBrokenPipes() {
    signal(SIGPIPE, SIG_IGN)
  }

  /// The time as a part of a file's name: in UTC, `YYYYMMDD-HHMMSS`.
  public static var stamp: String {
    var now = Glibc.time(nil)
    var parts = tm()
    gmtime_r(&now, &parts)
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 32) { buffer in
      guard let start = buffer.baseAddress, strftime(start, buffer.count, "%Y%m%d-%H%M%S", &parts) > 0 else {
        return ""
      }
      return String(cString: start)
    }
  }

  /// The variables of the environment.
  public static var environment: [String: String] {
    var variables: [String: String] = [:]
    var next = environ
    while let entry = next.pointee {
      let text = String(cString: entry)
      if let equals = text.firstIndex(of: "=") {
        variables[String(text[..<equals])] = String(text[equals...].dropFirst())
      }
      next += 1
    }
    return variables
  }

  /// Milliseconds of the monotonic clock, for deadlines.
  public static var now: Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
  }

  /// Milliseconds since the machine started. The machine's sleep counts here, but not in ``now``.
  public static var sinceBoot: Int {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
  }

  /// Microseconds since the machine started, to tell which of two events of different processes came first. The machine's sleep
  /// counts.
  public static var microsecondsSinceBoot: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return UInt64(time.tv_sec) * 1_000_000 + UInt64(time.tv_nsec) / 1000
  }

  /// Microseconds that the calling thread has computed, without the time of other threads and processes.
  public static var threadTime: Int {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000 + time.tv_nsec / 1000
  }

  /// Seconds since 1970, for stored times.
  public static var time: UInt64 { UInt64(max(Glibc.time(nil), 0)) }
}
