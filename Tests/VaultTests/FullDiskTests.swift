import Glibc
import LatchkeyKeybag
import LatchkeySodium
import Testing

@testable import LatchkeyVault

/// A small file system in memory; nil if the process may not make one.
final class SmallDisk {
  let path: String

  init?(mebibytes: Int = 2) {
    path = "/tmp/latchkey-small-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    guard geteuid() == 0, mkdir(path, 0o700) == 0 else { return nil }
    guard mount("latchkey-test", path, "tmpfs", 0, "size=\(mebibytes)m") == 0 else {
      rmdir(path)
      return nil
    }
  }

  deinit {
    umount2(path, 2 /* MNT_DETACH */)
    rmdir(path)
  }

  /// Fills the disk except for `rest` bytes.
  func fill(butFor rest: Int = 0) {
    let file = open(path + "/filler", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    let page = [UInt8](repeating: 1, count: 4096)
    while write(file, page, page.count) == page.count {}
    var status = stat()
    fstat(file, &status)
    ftruncate(file, max(0, status.st_size - rest))
    close(file)
  }

  /// Frees all of the space. A child of another test may have inherited the descriptor and not have started its program yet, so the
  /// file is emptied.
  func free() {
    truncate(path + "/filler", 0)
    unlink(path + "/filler")
  }
}

@Suite("A full disk", .enabled(if: geteuid() == 0, "needs to mount a small disk"), .serialized)
struct FullDiskTests {
  @Test(
    "refuses a store, keeps what is there, and is well again when there is room", arguments: [0, 4096, 16384, 65536])
  func store(_ rest: Int) throws {
    let disk = try #require(SmallDisk())
    let home = try Home(below: disk.path)
    func work() throws {
      let vault = try home.unlocked()
      let first = try vault.add(["n": "first"], "first")
      disk.fill(butFor: rest)
      var stored: [Int64] = []
      var refusal: VaultError?
      for number in 0..<200 where refusal == nil {
        do { stored.append(try vault.add(["n": "\(number)"], String(repeating: "s", count: 3000))) } catch {
          refusal = error as? VaultError
        }
      }
      #expect(refusal == .diskFull)
      #expect(throws: VaultError.diskFull) { try vault.set(first, String(repeating: "t", count: 100_000)) }
      #expect(try vault.secretText(first) == "first")
      for id in stored { #expect(try vault.secretText(id).count == 3000) }
      #expect(try vault.ids([:]) == [first] + stored)
      // A full disk is no damage, so the vault reports no problem of the files.
      #expect(!vault.isDamaged && vault.problemTexts == [])
      // Locking and unlocking need no space.
      vault.lock()
      try home.unlock(vault, liftingLocks: false)
      #expect(try vault.secretText(first) == "first")

      disk.free()
      try vault.set(first, "second")
      let more = try vault.add(["n": "more"], "more")
      #expect(try vault.secretText(first) == "second" && vault.secretText(more) == "more")
      #expect(try vault.ids([:]) == [first] + stored + [more])
    }
    try work()
    let vault = try home.unlocked()
    vault.verifyToEnd()
    #expect(vault.problemTexts == [])
    #expect(try vault.secretText(1) == "second")
  }

  @Test("A full disk does not keep a login from opening the vault, or a lock from locking it")
  func unlock() throws {
    let disk = try #require(SmallDisk())
    let home = try Home(below: disk.path)
    func work() throws -> Int64 {
      let vault = try home.unlocked()
      let id = try vault.add(["n": "1"], "s")
      try vault.collections.lock(1)
      vault.settleWhole()
      return id
    }
    let id = try work()
    disk.fill()
    // A login removes the explicit lock and, on another machine, would create keys. The disk has no room for either change.
    for machine in [Home.machine, Home.otherMachine] {
      let vault = home.vault(on: machine)
      try home.unlock(vault)
      #expect(try vault.secretText(id) == "s")
      #expect(throws: VaultError.diskFull) { try vault.add(["n": "2"], String(repeating: "x", count: 50000)) }
      _ = try? vault.collections.lock(1)
      #expect(throws: VaultError.isLocked) { try vault.secretText(id) }
    }
    disk.free()
    let vault = try home.unlocked(on: Home.otherMachine)
    #expect(try vault.secretText(id) == "s")
    #expect(try vault.add(["n": "2"], Array("t".utf8), .alwaysThisDeviceOnly).isNew)
  }

  @Test("at the first unlock leaves no half a vault")
  func creation() throws {
    for rest in [0, 8192, 16384, 32768, 65536, 98304] {
      let disk = try #require(SmallDisk())
      let home = try Home(below: disk.path)
      disk.fill(butFor: rest)
      func tryOnce() -> VaultError? {
        let vault = home.vault()
        do {
          try home.unlock(vault)
          return nil
        } catch { return error as? VaultError }
      }
      if let refusal = tryOnce() {
        #expect(refusal == .diskFull || refusal == .notCreated, "\(rest)")
        #expect(!home.names.contains("vault.db"), "\(rest)")
      }
      disk.free()
      let vault = home.vault()
      #expect(vault.problemTexts == [])
      try home.unlock(vault)
      #expect(try vault.collections.alias("default") == 1)
      #expect(try vault.add(["a": "1"], Array("s".utf8), .always).isNew)
    }
  }
}
