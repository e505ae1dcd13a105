import Foundation
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeyScratch
import LatchkeySodium
import Testing

@Suite("The device key in a file")
struct FileDeviceKeyTests {
  private let scratch: ScratchFolder
  private let machine = [UInt8](repeating: 1, count: 16)
  private let context = [UInt8](repeating: 7, count: 16)

  init() throws {
    try Sodium.initialize()
    scratch = try ScratchFolder()
  }

  private func device(_ machine: [UInt8]?, mayCreate: Bool = false) throws(DeviceKeyError) -> FileDeviceKey {
    let folder: Folder
    do { folder = try Folder(path: scratch.path, owner: geteuid()) } catch {
      throw .unavailable(.verbatim(error.description))
    }
    return try FileDeviceKey(folder: folder, machine: machine, mayCreate: mayCreate)
  }

  private func isUnavailable(_ machine: [UInt8]?, mayCreate: Bool = false) -> Bool {
    let seen = failure { () throws(DeviceKeyError) in _ = try device(machine, mayCreate: mayCreate) }
    if case .unavailable = seen { return true }
    return false
  }

  @Test("The device key in a file is created once, and is the same when it is read again", arguments: [true, false])
  func reload(hasMachine: Bool) throws {
    let machine = hasMachine ? machine : nil
    #expect(isUnavailable(machine))
    #expect(try scratch.names() == [])
    let made = try device(machine, mayCreate: true)
    let file = try #require(scratch.content(FileDeviceKey.name))
    #expect(file.count == 109)
    #expect(file[12] == (hasMachine ? 1 : 0))
    #expect(made.identity.count == 16)
    let share = try Key.random()
    for kind in [DeviceShareKind.bound, .erasable] {
      let wrapped = try made.wrap(share, kind, context: context)
      for mayCreate in [false, true] {
        let again = try device(machine, mayCreate: mayCreate)
        #expect(again.identity == made.identity)
        #expect(octets(try again.unwrap(wrapped, kind, context: context)) == octets(share))
      }
    }
    #expect(scratch.content(FileDeviceKey.name) == file)
    let mode = try FileManager.default.attributesOfItem(atPath: scratch.file(FileDeviceKey.name))[.posixPermissions]
    #expect(mode as? Int == 0o600)
  }

  @Test("The device key in a file keeps no secret for logins only: a reader of the file has everything that it wraps")
  func session() throws {
    let device = try device(machine, mayCreate: true)
    let share = try Key.random()
    let wrapped = try device.wrap(share, .bound, context: context)
    let refusals = [
      failure { () throws(DeviceKeyError) in _ = try device.wrap(share, .session, context: context) },
      failure { () throws(DeviceKeyError) in _ = try device.unwrap(wrapped, .session, context: context) },
    ]
    for refusal in refusals {
      guard case .unavailable = refusal else { Issue.record("\(String(describing: refusal))"); continue }
    }
  }

  @Test("On another machine, the file is another device")
  func otherMachine() throws {
    let here = try device(machine, mayCreate: true)
    let there = try device([UInt8](repeating: 2, count: 16))
    #expect(here.identity != there.identity)
    let share = try Key.random()
    for kind in [DeviceShareKind.bound, .erasable] {
      let wrapped = try here.wrap(share, kind, context: context)
      #expect(
        failure { () throws(DeviceKeyError) in _ = try there.unwrap(wrapped, kind, context: context) } == .otherDevice)
    }
    #expect(isUnavailable(nil))
  }

  @Test("A file without a machine does not get one by being read on one")
  func loose() throws {
    let loose = try device(nil, mayCreate: true)
    #expect(try device(machine).identity == loose.identity)
  }

  @Test("Two files are two devices")
  func otherFile() throws {
    let first = try device(machine, mayCreate: true)
    try FileManager.default.removeItem(atPath: scratch.file(FileDeviceKey.name))
    let second = try device(machine, mayCreate: true)
    #expect(first.identity != second.identity)
    let wrapped = try first.wrap(try Key.random(), .bound, context: context)
    #expect(
      failure { () throws(DeviceKeyError) in _ = try second.unwrap(wrapped, .bound, context: context) } == .otherDevice)
  }

  @Test("The kind, the context and every byte of a wrapped share count")
  func binding() throws {
    let device = try device(machine, mayCreate: true)
    let share = try Key.random()
    let wrapped = try device.wrap(share, .bound, context: context)
    #expect(wrapped.count == 72)
    func opens(_ wrapped: [UInt8], _ kind: DeviceShareKind, _ context: [UInt8]) -> Bool {
      let seen = failure { () throws(DeviceKeyError) in _ = try device.unwrap(wrapped, kind, context: context) }
      #expect(seen == nil || seen == .otherDevice)
      return seen == nil
    }
    #expect(opens(wrapped, .bound, context))
    #expect(!opens(wrapped, .erasable, context))
    #expect(!opens(try device.wrap(share, .erasable, context: context), .bound, context))
    #expect(!opens(wrapped, .bound, []))
    #expect(!opens(wrapped, .bound, [UInt8](repeating: 8, count: 16)))
    for offset in wrapped.indices { #expect(!opens(wrapped.with(wrapped[offset] ^ 1, at: offset), .bound, context)) }
    for count in 0..<wrapped.count { #expect(!opens(Array(wrapped.prefix(count)), .bound, context)) }
  }

  // The fate of whenPasscodeSetThisDeviceOnly when the erasable secret is gone.
  @Test("With another erasable secret, only what depends on it is lost")
  func erasable() throws {
    let before = try device(machine, mayCreate: true)
    let share = try Key.random()
    let bound = try before.wrap(share, .bound, context: context)
    let erasable = try before.wrap(share, .erasable, context: context)
    let file = try #require(scratch.content(FileDeviceKey.name))
    try scratch.put(FileDeviceKey.name, file.with(file[45] ^ 1, at: 45).resummed)
    let after = try device(machine)
    #expect(after.identity == before.identity)
    #expect(octets(try after.unwrap(bound, .bound, context: context)) == octets(share))
    #expect(
      failure { () throws(DeviceKeyError) in _ = try after.unwrap(erasable, .erasable, context: context) }
        == .otherDevice)
  }

  @Test("A damaged file is reported as unavailable, and stays as it is")
  func damaged() throws {
    _ = try device(machine, mayCreate: true)
    let good = try #require(scratch.content(FileDeviceKey.name))
    var files = good.indices.map { good.with(good[$0] ^ 0x10, at: $0) }
    files += [0, 1, 12, 76, 108].map { Array(good.prefix($0)) }
    files += [good + [0], good + good, [UInt8](repeating: 0, count: 109)]
    // Files with a valid check sum, but another magic, newer versions in every byte of the number, an unknown flag.
    files += [(0, 0x4D), (8, 2), (8, 0), (9, 1), (10, 1), (11, 0x80), (12, 2), (12, 0xFF)].map {
      good.with(UInt8($0.1), at: $0.0).resummed
    }
    for file in files {
      try scratch.put(FileDeviceKey.name, file)
      #expect(isUnavailable(machine), "\(file)")
      #expect(isUnavailable(machine, mayCreate: true))
      #expect(scratch.content(FileDeviceKey.name) == file)
    }
    try scratch.put(FileDeviceKey.name, good)
    _ = try device(machine)
  }

  @Test("A link or a fifo in place of the device key is reported as unavailable")
  func strangeFiles() throws {
    _ = try device(machine, mayCreate: true)
    #expect(rename(scratch.file(FileDeviceKey.name), scratch.file("real")) == 0)
    #expect(symlink("real", scratch.file(FileDeviceKey.name)) == 0)
    #expect(isUnavailable(machine))
    #expect(isUnavailable(machine, mayCreate: true))
    #expect(unlink(scratch.file(FileDeviceKey.name)) == 0)
    #expect(mkfifo(scratch.file(FileDeviceKey.name), 0o600) == 0)
    #expect(isUnavailable(machine, mayCreate: true))
  }

  @Test("Two programs at once create one device key")
  func twoAtOnce() throws {
    let path = scratch.path
    for _ in 0..<20 {
      let identities = Identities()
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        do {
          let folder = try Folder(path: path, owner: geteuid())
          identities.add(try FileDeviceKey(folder: folder, machine: nil, mayCreate: true).identity)
        } catch { Issue.record(error) }
      }
      #expect(identities.all == [try device(nil).identity])
      try FileManager.default.removeItem(atPath: scratch.file(FileDeviceKey.name))
    }
  }

  @Test("The creating program waits for the lock, and takes the key that it then finds")
  func waits() throws {
    _ = try device(nil, mayCreate: true)
    let first = try #require(scratch.content(FileDeviceKey.name))
    let identity = try device(nil).identity
    try FileManager.default.removeItem(atPath: scratch.file(FileDeviceKey.name))

    let folder = try Folder(path: scratch.path, owner: geteuid())
    // As in FolderTests, a child that another test has just forked may still share the earlier lock.
    let lock = try folder.lock("keybag.lock", deadline: 60_000)
    let identities = Identities()
    let path = scratch.path
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      do {
        let folder = try Folder(path: path, owner: geteuid())
        identities.add(try FileDeviceKey(folder: folder, machine: nil, mayCreate: true).identity)
      } catch { Issue.record(error) }
      done.signal()
    }
    usleep(200_000)
    #expect(try scratch.names() == ["keybag.lock"])
    try scratch.put(FileDeviceKey.name, first)
    close(lock.release())
    done.wait()
    #expect(identities.all == [identity])
  }

  private final class Identities: @unchecked Sendable {
    private let lock = NSLock()
    private var seen: Set<[UInt8]> = []
    func add(_ identity: [UInt8]) { lock.withLock { _ = seen.insert(identity) } }
    var all: Set<[UInt8]> { lock.withLock { seen } }
  }
}
