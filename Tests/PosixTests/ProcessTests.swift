import CLatchkeyLinux
import Foundation
import LatchkeyPosix
import Testing

@Suite("Changes of a process to itself")
struct ProcessTests {
  @Test("No core dump and no inspection")
  func forbidInspection() async {
    await #expect(processExitsWith: .success) {
      guard linux_dumpable() == 1 else { exit(2) }
      try LatchkeyPosix.Process.forbidInspection()
      var limit = rlimit()
      getrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
      guard linux_dumpable() == 0, limit.rlim_cur == 0, limit.rlim_max == 0 else { exit(3) }
    }
  }

  @Test(
    "Root becomes another user for good, and stays closed to inspection", .enabled(if: geteuid() == 0, "needs root"))
  func become() async {
    await #expect(processExitsWith: .success) {
      guard let account = Account(name: "nobody") else { exit(2) }
      try LatchkeyPosix.Process.forbidInspection()
      try LatchkeyPosix.Process.become(account)
      var (real, effective, saved): (uid_t, uid_t, uid_t) = (0, 0, 0)
      guard getresuid(&real, &effective, &saved) == 0,
        [real, effective, saved] == [account.uid, account.uid, account.uid]
      else { exit(3) }
      guard getgid() == account.gid, getegid() == account.gid else { exit(4) }
      var groups = [gid_t](repeating: 0, count: 64)
      let count = getgroups(64, &groups)
      guard count >= 0, !groups.prefix(Int(count)).contains(0) else { exit(5) }
      guard setuid(0) != 0, setgid(0) != 0 else { exit(6) }
      guard linux_dumpable() == 0 else { exit(7) }
      // A process that became a user cannot become another.
      try LatchkeyPosix.Process.become(account)
      guard let root = Account(uid: 0) else { exit(8) }
      do {
        try LatchkeyPosix.Process.become(root)
        exit(9)
      } catch {
        guard (error as? PosixError)?.code == EPERM else { exit(10) }
      }
    }
  }

  @Test("Becoming root as root does nothing", .enabled(if: geteuid() == 0, "needs root"))
  func becomeRoot() throws {
    try LatchkeyPosix.Process.become(try #require(Account(uid: 0)))
  }

  @Test("A process dies with its parent")
  func dieWithParent() async {
    await #expect(processExitsWith: .success) { try LatchkeyPosix.Process.dieWithParent() }
  }

  @Test("The clocks advance")
  func clocks() {
    let start = LatchkeyPosix.Process.now
    usleep(20_000)
    #expect((19...60_000).contains(LatchkeyPosix.Process.now - start))
    #expect(abs(Double(LatchkeyPosix.Process.time) - Date().timeIntervalSince1970) < 60)
  }
}

@Suite("Accounts and memory")
struct SystemTests {
  @Test("An account is found by name and by number")
  func accounts() throws {
    let mine = try #require(Account(uid: geteuid()))
    #expect(mine.uid == geteuid())
    #expect(mine.home.hasPrefix("/"))
    let same = try #require(Account(name: mine.name))
    #expect(same.uid == mine.uid && same.gid == mine.gid && same.home == mine.home)
    #expect(Account(name: "no such user, surely") == nil)
    #expect(Account(uid: 4_123_456_789) == nil)
    #expect((500...60000).contains(Account.firstPersonUID))
  }

  @Test("Free memory is more than nothing and less than everything")
  func memory() {
    #expect(Memory.total == ProcessInfo.processInfo.physicalMemory)
    #expect(Memory.available > 0 && Memory.available <= Memory.total)
  }
}

@Suite("Descriptors")
struct FileDescriptorTests {
  // Other tests reuse numbers at once, so the test checks at the other end whether an end is closed.
  @Test("A descriptor is closed with its value, unless it is released")
  func ownership() throws {
    var ends: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    let reading = FileDescriptor(owning: ends[0])
    let number: Int32
    do {
      let writing = FileDescriptor(owning: ends[1])
      try writing.writeAll([UInt8](1...5).span.bytes)
      number = writing.release()
    }
    var memory = [UInt8](repeating: 0, count: 5)
    let count = try reading.read(into: &memory)
    #expect(count == 5 && memory == [1, 2, 3, 4, 5])
    do {
      let writing = FileDescriptor(owning: number)
      try writing.writeAll([UInt8(6)].span.bytes)
    }
    // The reading end sees the end of the file only once the writing end is closed. A child that another test has just forked also
    // has the writing end, until it executes its program.
    var hangUp = pollfd(fd: reading.number, events: 0, revents: 0)
    #expect(poll(&hangUp, 1, 60_000) == 1)
    let flagged = fcntl(reading.number, F_SETFL, O_NONBLOCK)
    #expect(flagged == 0)
    let rest = try reading.readAll(limit: 5)
    #expect(rest == [6])
  }

  /// The reader reads a file in growing pieces.
  @Test(
    "A file is read whole, or refused if it is larger than the limit",
    arguments: [0, 1, 16384, 16385, 65539, 65540, 65541, 200_000])
  func wholeFiles(_ size: Int) throws {
    let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) }
    let path = "/tmp/latchkey-read-\(UUID())"
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    defer { unlink(path) }
    for limit in [size, size + 1, size + 16384, 1 << 20] {
      let read = try FileDescriptor.open(path, flags: O_RDONLY).readAll(limit: limit)
      #expect((read == bytes) as Bool, "\(limit)")
    }
    guard size > 0 else { return }
    #expect(throws: PosixError.self) { try FileDescriptor.open(path, flags: O_RDONLY).readAll(limit: size - 1) }
  }

  @Test("A descriptor does not survive exec")
  func closeOnExec() throws {
    let file = try FileDescriptor.open("/dev/null", flags: O_RDONLY)
    let flags = fcntl(file.number, F_GETFD)
    #expect(flags & FD_CLOEXEC != 0)
  }

  @Test("An error names the failed call and its reason")
  func errors() {
    let failure = #expect(throws: PosixError.self) { _ = try FileDescriptor.open("/nowhere/at/all", flags: O_RDONLY) }
    #expect(failure == PosixError("open", code: ENOENT))
    #expect(failure?.description == "open: No such file or directory")
    #expect(PosixError("open", code: ENOENT) != PosixError("open", code: EPERM))
    #expect(PosixError("open", code: ENOENT) != PosixError("read", code: ENOENT))
  }
}
