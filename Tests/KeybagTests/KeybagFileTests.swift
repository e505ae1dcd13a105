import Foundation
import LatchkeyPosix
import LatchkeyScratch
import LatchkeySodium
import Synchronization
import Testing

@testable import LatchkeyKeybag

@Suite("The keybag's file")
struct KeybagFileTests {
  private let home: ScratchFolder
  private let owner = geteuid()

  init() throws {
    try Sodium.initialize()
    home = try ScratchFolder()
  }

  private var vault: String { KeybagFile.folderPath(home: home.path) }

  private func put(_ name: String, _ bytes: [UInt8]) throws {
    try FileManager.default.createDirectory(
      atPath: vault, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    try Data(bytes).write(to: URL(fileURLWithPath: vault + "/" + name))
  }

  private func content(_ name: String) -> [UInt8]? {
    FileManager.default.contents(atPath: vault + "/" + name).map { Array($0) }
  }

  private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: vault).sorted() }

  @Test("Created once: the file exists, opens, and is not created again")
  func createdOnce() throws {
    #expect(
      failure { () throws(KeybagError) in _ = try KeybagFile.folder(home: home.path, owner: owner) } == .missing)
    let created = try KeybagFile.create(home: home.path, owner: owner, with: password)
    #expect(vault == home.path + "/.local/share/latchkey")
    let folder = try KeybagFile.folder(home: home.path, owner: owner)
    let read = try KeybagFile.load(from: folder)
    #expect(read == created.keybag)
    #expect(octets(try read.open(with: password).tiers().session) == octets(try created.tiers().session))
    #expect(try names() == ["keybag", "keybag.copy", "keybag.lock"])
    let before = content("keybag")
    #expect(
      failure { () throws(KeybagError) in
        _ = try KeybagFile.create(home: home.path, owner: owner, with: [1])
      } == .alreadyThere)
    #expect(content("keybag") == before)
  }

  @Test("Nothing is created next to a database, or in place of another file")
  func notCreated() throws {
    try put("vault.db", [1])
    func creating() -> KeybagError? {
      failure { () throws(KeybagError) in
        _ = try KeybagFile.create(home: home.path, owner: owner, with: password)
      }
    }
    #expect(creating() == .alreadyThere)
    #expect(try names() == ["keybag.lock", "vault.db"])
    try FileManager.default.removeItem(atPath: vault + "/vault.db")
    for name in ["keybag", "vault.db"] {
      #expect(symlink("nowhere", vault + "/" + name) == 0)
      #expect(creating() == .alreadyThere)
      try FileManager.default.removeItem(atPath: vault + "/" + name)
    }
    try put("keybag", [])
    #expect(creating() == .alreadyThere)
    #expect(content("keybag") == [])
  }

  @Test("Two creations at once create one vault")
  func twoCreations() throws {
    let path = home.path
    let owner = owner
    let outcomes = Mutex<(vaults: [[UInt8]], errors: [KeybagError])>(([], []))
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      do throws(KeybagError) {
        let vault = try KeybagFile.create(home: path, owner: owner, with: password).keybag.vault
        outcomes.withLock { $0.vaults.append(vault) }
      } catch {
        outcomes.withLock { $0.errors.append(error) }
      }
    }
    let (vaults, errors) = outcomes.withLock { $0 }
    let present = try KeybagFile.load(from: try KeybagFile.folder(home: path, owner: owner))
    #expect(vaults == [present.vault])
    // On a slow machine, the wait for the lock may time out first.
    #expect(errors.allSatisfy { $0 == .alreadyThere || $0 == .file(PosixError("flock", code: EWOULDBLOCK)) })
    #expect(try names() == ["keybag", "keybag.copy", "keybag.lock"])
  }

  @Test("No vault is created in another user's home")
  func foreignHome() throws {
    let seen = failure { () throws(KeybagError) in
      _ = try KeybagFile.create(home: home.path, owner: owner + 1, with: password)
    }
    #expect(seen == .file(PosixError("folder", code: EPERM)))
    #expect(try home.names() == [])
    #expect(
      failure { () throws(KeybagError) in
        _ = try KeybagFile.create(home: home.file("none"), owner: owner, with: password)
      } == .file(PosixError("open", code: ENOENT)))
  }

  @Test("A full disk leaves no keybag, whole or half")
  func fullDisk() async {
    await #expect(processExitsWith: .success) {
      try Sodium.initialize()
      let home = try ScratchFolder()
      signal(SIGXFSZ, SIG_IGN)
      var limit = rlimit(rlim_cur: 100, rlim_max: 100)
      guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(2) }
      do throws(KeybagError) {
        _ = try KeybagFile.create(home: home.path, owner: geteuid(), with: password)
        exit(3)
      } catch {
        guard error == .file(PosixError("write", code: EFBIG)) else { exit(4) }
      }
      let folder = KeybagFile.folderPath(home: home.path)
      guard try FileManager.default.contentsOfDirectory(atPath: folder) == ["keybag.lock"] else { exit(5) }
    }
  }

  @Test("The error says why a file cannot be read")
  func load() throws {
    try put("x", [])
    let folder = try KeybagFile.folder(home: home.path, owner: owner)
    func loading() -> KeybagError? { failure { () throws(KeybagError) in _ = try KeybagFile.load(from: folder) } }
    #expect(loading() == .missing)
    try put("keybag", [UInt8](repeating: 0x4C, count: Keybag.sizeLimit + 1))
    #expect(loading() == .truncated)
    try put("keybag", Array("something else".utf8))
    #expect(loading() == .foreign)
    try FileManager.default.removeItem(atPath: vault + "/keybag")
    #expect(symlink("x", vault + "/keybag") == 0)
    #expect(loading() == .file(PosixError("open", code: ELOOP)))
  }

  @Test("A keybag is replaced only by the next generation of the same vault")
  func replace() throws {
    let created = try Keybag.create(with: password, cost: cheap)
    try put("keybag", created.keybag.encoded)
    let folder = try KeybagFile.folder(home: home.path, owner: owner)
    func replacing(_ base: Keybag, _ next: Keybag) -> KeybagError? {
      failure { () throws(KeybagError) in try KeybagFile.replace(base, with: next, in: folder) }
    }
    let second = try created.proving()
    let beside = try created.confirming()
    #expect(replacing(created.keybag, second) == nil)
    #expect(try KeybagFile.load(from: folder) == second)
    // The keybag was made from generation 1, as a slower process would do. So it is out of date.
    #expect(replacing(created.keybag, second) == .overtaken && replacing(created.keybag, beside) == .overtaken)
    let third = try second.open(with: password).proving()
    let fourth = try third.open(with: password).proving()
    #expect(replacing(third, fourth) == .overtaken && replacing(second, fourth) == .overtaken)
    #expect(replacing(beside, try beside.open(with: password).proving()) == .overtaken)
    let other = try Keybag.create(with: password, cost: cheap).proving().open(with: password).proving()
    #expect(other.generation == 3)
    #expect(replacing(second, other) == .overtaken)
    #expect(try KeybagFile.load(from: folder) == second)
    #expect(replacing(second, third) == nil)
    #expect(try names() == ["keybag", "keybag.copy", "keybag.lock"])
  }

  @Test(
    "Before there is a database, a changed password replaces only the keybag generation to which it was added"
  )
  func replaceAwaiting() throws {
    let created = try KeybagFile.create(home: home.path, owner: owner, with: password)
    let folder = try KeybagFile.folder(home: home.path, owner: owner)
    func adding(_ new: [UInt8], to opened: borrowing Keybag.Opened) throws -> Keybag {
      let next = try #require(try opened.addingPassword(new.span.bytes, cost: cheap))
      return try opened.adding(next.protectors[0], isAwaitingDatabase: KeybagFile.awaitsDatabase(in: folder))
    }
    func replacing(_ base: Keybag, _ next: Keybag) -> KeybagError? {
      failure { () throws(KeybagError) in try KeybagFile.replace(base, with: next, in: folder) }
    }
    let second = try adding([1], to: created)
    let beside = try adding([2], to: created)
    #expect(second.awaitsDatabase && second != created.keybag)
    #expect(replacing(created.keybag, second) == nil)
    #expect(replacing(created.keybag, beside) == .overtaken)
    #expect(try KeybagFile.load(from: folder) == second)
    #expect(content("keybag.copy") == second.encoded)
    let third = try adding([3], to: try second.open(with: [1]))
    for sign in ["vault.db", "generations/3-1-1.db"] {
      if sign != "vault.db" {
        try FileManager.default.createDirectory(atPath: vault + "/generations", withIntermediateDirectories: true)
      }
      try put(sign, [1])
      #expect(replacing(second, third) == .overtaken)
      #expect(try adding([3], to: try second.open(with: [1])).generation == 2)
      try FileManager.default.removeItem(atPath: vault + "/" + sign)
    }
    #expect(replacing(second, third) == nil)
  }

  @Test("A damaged keybag is not replaced, and a keybag with the highest generation is not either")
  func replaceHostile() throws {
    let created = try Keybag.create(with: password, cost: cheap)
    let next = try created.proving()
    let damaged = created.keybag.encoded.with(number: UInt64.max, at: Offset.generation)
    for file in [
      damaged, damaged.resummed, created.keybag.encoded.with(number: UInt64.max - 1, at: Offset.generation).resummed,
    ] {
      try put("keybag", file)
      let folder = try KeybagFile.folder(home: home.path, owner: owner)
      #expect(
        failure { () throws(KeybagError) in
          try KeybagFile.replace(created.keybag, with: next, in: folder)
        } != nil)
      #expect(content("keybag") == file)
    }
  }

  @Test("The home folder that contains the folder of a vault")
  func homes() {
    #expect(KeybagFile.home(ofFolder: KeybagFile.folderPath(home: "/home/alice")) == "/home/alice")
    #expect(KeybagFile.home(ofFolder: "/srv/.local/share/latchkey") == "/srv")
    #expect(KeybagFile.home(ofFolder: "/srv/latchkey") == nil && KeybagFile.home(ofFolder: "") == nil)
  }

  @Test("Every error has an explanation")
  func explanations() {
    let errors: [KeybagError] = [
      .missing, .alreadyThere, .overtaken, .truncated, .foreign, .newerFormat(9), .damaged, .unreasonable,
      .wrongPassword, .noMemory,
      .file(PosixError("open", code: EPERM)),
    ]
    #expect(Set(errors.map(\.explanation)).count == errors.count)
    #expect(KeybagError.newerFormat(9).explanation.contains("9"))
  }
}
