import Foundation
import LatchkeyPosix
import LatchkeyScratch
import Testing

@Suite("A user's folder")
struct FolderTests {
  private let scratch: ScratchFolder
  private let owner = geteuid()

  init() throws { scratch = try ScratchFolder() }

  private func open() throws(PosixError) -> Folder { try Folder(path: scratch.path, owner: owner) }

  /// The error number that `body` throws; 0 if it throws none.
  private func failure(_ body: () throws(PosixError) -> Void) -> Int32 {
    do {
      try body()
      return 0
    } catch { return error.code }
  }

  @Test("A copy has zeros for unreadable data, and after a while the copying skips ahead over bad blocks")
  func unreadable() throws {
    let folder = try open()
    let bytes = [UInt8](repeating: 7, count: 4 << 20)
    try folder.write("sick", bytes.span.bytes, replacing: false)
    let bad = 1 << 20..<3 << 20
    for (time, most) in [(Int.max, 512), (0, 2)] {
      var failures = 0
      let isWhole = try folder.copyReadable(scratch.file("sick"), to: "copy\(most)", failingFor: time) {
        guard bad.contains(Int($3)) else { return pread($0, $1, $2, $3) }
        failures += 1
        errno = EIO
        return -1
      }
      #expect(!isWhole && failures == most)
      let copy = try folder.read("copy\(most)", limit: 4 << 20)
      #expect(copy.count == bytes.count && copy[bad].allSatisfy { $0 == 0 })
      #expect(copy[..<(1 << 20)].allSatisfy { $0 == 7 } && copy[(3 << 20)...].allSatisfy { $0 == 7 })
    }
    let isWhole = try folder.copyReadable(scratch.file("sick"), to: "whole")
    #expect(isWhole)
  }

  @Test("A file is read back as written, has mode 0600, and leaves no other file")
  func roundTrip() throws {
    let folder = try open()
    for bytes in [[], [1, 2, 3], Pattern.bytes(200_000)] as [[UInt8]] {
      try folder.write("keys", bytes.span.bytes, replacing: true)
      let again = try folder.read("keys", limit: 200_000)
      #expect(again == bytes)
      var memory = [UInt8](repeating: 0, count: 200_001)
      let count = try folder.read("keys", into: &memory)
      #expect(Array(memory.prefix(count)) == bytes)
    }
    #expect(try scratch.names() == ["keys"])
    let mode = try FileManager.default.attributesOfItem(atPath: scratch.file("keys"))[.posixPermissions] as? Int
    #expect(mode == 0o600)
    let (keys, other) = (folder.contains("keys"), folder.contains("other"))
    #expect(keys && !other)
  }

  @Test("The limit counts")
  func limits() throws {
    let folder = try open()
    try scratch.put("file", [1, 2, 3, 4, 5])
    let seen = try folder.read("file", limit: 5)
    #expect(seen == [1, 2, 3, 4, 5])
    #expect(failure { () throws(PosixError) in _ = try folder.read("file", limit: 4) } == EFBIG)
    #expect(failure { () throws(PosixError) in _ = try folder.read("file", limit: 0) } == EFBIG)
    var memory: [UInt8] = [0, 0, 0]
    let count = try folder.read("file", into: &memory)
    #expect(count == 3 && memory == [1, 2, 3])
  }

  @Test("Links are not followed, and a file that is not regular is refused at once")
  func strangeFiles() throws {
    let folder = try open()
    try scratch.put("real", [1])
    #expect(symlink(scratch.file("real"), scratch.file("link")) == 0)
    #expect(symlink("nowhere", scratch.file("dangling")) == 0)
    #expect(mkfifo(scratch.file("fifo"), 0o600) == 0)
    #expect(mkdir(scratch.file("directory"), 0o700) == 0)
    let start = Process.now
    #expect(failure { () throws(PosixError) in _ = try folder.read("missing", limit: 10) } == ENOENT)
    #expect(failure { () throws(PosixError) in _ = try folder.read("link", limit: 10) } == ELOOP)
    #expect(failure { () throws(PosixError) in _ = try folder.read("dangling", limit: 10) } == ELOOP)
    #expect(failure { () throws(PosixError) in _ = try folder.read("fifo", limit: 10) } == EPERM)
    #expect(failure { () throws(PosixError) in _ = try folder.read("directory", limit: 10) } == EPERM)
    // A lock file that is a link is refused too.
    #expect(failure { () throws(PosixError) in _ = try folder.lock("link", deadline: 0) } == ELOOP)
    #expect(failure { () throws(PosixError) in _ = try folder.lock("fifo", deadline: 0) } == EPERM)
    #expect(Process.now - start < 60_000)
    let isThere = folder.contains("dangling")
    #expect(isThere)
  }

  @Test("A link in place of a file is replaced, and its target stays")
  func replacedLink() throws {
    let folder = try open()
    try scratch.put("real", [1])
    for name in ["keys", "keys.new"] { #expect(symlink(scratch.file("real"), scratch.file(name)) == 0) }
    try folder.write("keys", [UInt8(2)].span.bytes, replacing: true)
    #expect(scratch.content("real") == [1])
    let whole = try folder.read("keys", limit: 10)
    #expect(whole == [2])
    #expect(try scratch.names() == ["keys", "real"])
  }

  @Test("Without permission to replace, not even a dangling link is replaced")
  func notReplacing() throws {
    let folder = try open()
    try folder.write("keys", [UInt8(1)].span.bytes, replacing: false)
    #expect(
      failure { () throws(PosixError) in try folder.write("keys", [UInt8(2)].span.bytes, replacing: false) } == EEXIST)
    #expect(scratch.content("keys") == [1])
    #expect(symlink("nowhere", scratch.file("link")) == 0)
    #expect(
      failure { () throws(PosixError) in try folder.write("link", [UInt8(2)].span.bytes, replacing: false) } == EEXIST)
    #expect(try scratch.names() == ["keys", "link"])
  }

  @Test("Leftovers of a killed process do no harm")
  func leftovers() throws {
    let folder = try open()
    try scratch.put("keys.new", [9, 9])
    try folder.write("keys", [UInt8(1)].span.bytes, replacing: true)
    #expect(try scratch.names() == ["keys"])
  }

  @Test("Another user's folder and files are refused")
  func owners() throws {
    #expect(
      failure { () throws(PosixError) in _ = try Folder(path: scratch.path, owner: owner + 1) } == EPERM)
    #expect(
      failure { () throws(PosixError) in _ = try Folder.create(["a"], below: scratch.path, owner: owner + 1) } == EPERM)
    #expect(try scratch.names() == [])
    #expect(failure { () throws(PosixError) in _ = try Folder(path: scratch.file("x"), owner: owner) } == ENOENT)
  }

  @Test("Another user's file in the user's folder is refused", .enabled(if: geteuid() == 0, "needs root"))
  func foreignFile() throws {
    let folder = try open()
    try scratch.put("keys", [1])
    #expect(chown(scratch.file("keys"), 12345, 12345) == 0)
    #expect(failure { () throws(PosixError) in _ = try folder.read("keys", limit: 10) } == EPERM)
    #expect(failure { () throws(PosixError) in _ = try folder.lock("keys", deadline: 0) } == EPERM)
    #expect(mkdir(scratch.file("foreign"), 0o755) == 0)
    #expect(chown(scratch.file("foreign"), 12345, 12345) == 0)
    #expect(
      failure { () throws(PosixError) in _ = try Folder.create(["foreign", "new"], below: scratch.path, owner: owner) }
        == EPERM)
    #expect(!FileManager.default.fileExists(atPath: scratch.file("foreign/new")))
  }

  @Test("Folders are created with mode 0700, and links to folders on the way are followed")
  func create() throws {
    let made = try Folder.create(["one", "two"], below: scratch.path, owner: owner)
    try made.write("file", [UInt8(1)].span.bytes, replacing: false)
    let again = try Folder.create(["one", "two"], below: scratch.path, owner: owner)
    let isThere = again.contains("file")
    #expect(isThere)
    for name in ["one", "one/two"] {
      let mode = try FileManager.default.attributesOfItem(atPath: scratch.file(name))[.posixPermissions] as? Int
      #expect(mode == 0o700)
    }
    #expect(symlink("one", scratch.file("link")) == 0)
    let linked = try Folder.create(["link", "two"], below: scratch.path, owner: owner)
    let isThereToo = linked.contains("file")
    #expect(isThereToo)
    try scratch.put("plain", [])
    #expect(
      failure { () throws(PosixError) in _ = try Folder.create(["plain"], below: scratch.path, owner: owner) }
        == ENOTDIR)
  }

  @Test("A lock excludes others until their deadline, and ends with its value")
  func lock() throws {
    let folder = try open()
    let other = try open()
    do {
      let held = try folder.lock("lock", deadline: 0)
      defer { extendLifetime(held) }
      let start = Process.now
      #expect(failure { () throws(PosixError) in _ = try other.lock("lock", deadline: 200) } == EWOULDBLOCK)
      #expect((150...60_000).contains(Process.now - start))
      #expect(failure { () throws(PosixError) in _ = try other.lock("lock", deadline: 0) } == EWOULDBLOCK)
    }
    // A child that another test has just forked shares the descriptor, and so the lock, until it executes its program.
    _ = try other.lock("lock", deadline: 60_000)
  }

  @Test("A file that is too large to write leaves the old file, and no temporary file")
  func failedWrite() async {
    await #expect(processExitsWith: .success) {
      let scratch = try ScratchFolder()
      let folder = try Folder(path: scratch.path, owner: geteuid())
      try folder.write("keys", Pattern.bytes(300).span.bytes, replacing: true)
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit(rlim_cur: 400, rlim_max: 400)
      guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(2) }
      for (name, replacing) in [("keys", true), ("fresh", false)] {
        do {
          try folder.write(name, Pattern.bytes(5000).span.bytes, replacing: replacing)
          exit(3)
        } catch {
          guard (error as? PosixError)?.code == EFBIG else { exit(4) }
        }
      }
      guard try scratch.names() == ["keys"], scratch.content("keys") == Pattern.bytes(300) else { exit(5) }
    }
  }

  @Test("A full disk leaves the old file too, and no temporary one", .enabled(if: geteuid() == 0, "needs root"))
  func fullDisk() throws {
    // If the container may not mount anything, the test cannot show anything.
    guard mount("none", scratch.path, "tmpfs", 0, "size=64k,mode=0700") == 0 else { return }
    defer { umount(scratch.path) }
    let folder = try open()
    try folder.write("keys", Pattern.bytes(300).span.bytes, replacing: true)
    #expect(
      failure { () throws(PosixError) in try folder.write("filler", Pattern.bytes(500_000).span.bytes, replacing: true)
      }
        == ENOSPC)
    try scratch.put("filler", Pattern.bytes(60_000 - 4096))
    #expect(
      failure { () throws(PosixError) in try folder.write("keys", Pattern.bytes(9000).span.bytes, replacing: true) }
        == ENOSPC)
    #expect(try scratch.names() == ["filler", "keys"])
    #expect(scratch.content("keys") == Pattern.bytes(300))
  }

  @Test("A reader sees the old or the new content, whole, during a replacement")
  func atomic() throws {
    let first = [UInt8](repeating: 1, count: 30_000)
    let second = [UInt8](repeating: 2, count: 50_000)
    try open().write("keys", first.span.bytes, replacing: true)
    let path = scratch.path
    let owner = owner
    DispatchQueue.concurrentPerform(iterations: 2) { worker in
      do {
        let folder = try Folder(path: path, owner: owner)
        for round in 0..<200 {
          if worker == 0 {
            try folder.write("keys", (round.isMultiple(of: 2) ? second : first).span.bytes, replacing: true)
          } else {
            let seen = try folder.read("keys", limit: 60_000)
            #expect(seen == first || seen == second)
          }
        }
      } catch { Issue.record(error) }
    }
  }
}

/// Content that a test recognises in a file.
enum Pattern {
  static func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) } }
}
