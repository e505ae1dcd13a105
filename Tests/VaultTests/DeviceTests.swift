import Glibc
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import LatchkeyStandInDevice
import Testing

@testable import LatchkeyVault

@Suite("The device key")
struct DeviceTests {
  private let home: Home
  private let device = StandInDevice(seed: 5)
  private static let bound = AccessibilityClass.allCases.filter(\.isBoundToDevice)

  init() throws { home = try Home() }

  /// The vault as the daemon has it on a machine with the device key service.
  private func vault(
    _ service: StandInDevice?, on machine: [UInt8]? = Home.machine, failure: DeviceKeyError? = nil
  ) -> Vault {
    Vault(home: home.path, owner: getuid(), machine: machine) { () throws(DeviceKeyError) in
      if let failure { throw failure }
      return service
    }
  }

  private func fill(_ vault: Vault) throws -> [AccessibilityClass: Int64] {
    try home.unlock(vault)
    vault.verifyToEnd()
    var ids: [AccessibilityClass: Int64] = [:]
    for one in AccessibilityClass.allCases { ids[one] = try vault.add(["class": one.name], "of \(one)", one) }
    return ids
  }

  /// A vault whose device key is in a file, with an item of each class.
  private func filled() throws -> [AccessibilityClass: Int64] { try fill(vault(nil)) }

  private func check(_ vault: Vault, _ ids: [AccessibilityClass: Int64], except lost: [AccessibilityClass] = []) throws
  {
    for (one, id) in ids where !lost.contains(one) { #expect(try vault.secretText(id) == "of \(one)") }
    for one in lost { #expect(throws: VaultError.self) { try vault.secretText(ids[one] ?? 0) } }
  }

  private var hasFile: Bool { home.names.contains("device.key") }

  @Test("The device key is created later if the service did not answer when the vault was created")
  func createdWithout() throws {
    do {
      let vault = vault(nil, failure: .unavailable(.device(.silent)))
      try home.unlock(vault)
      #expect(vault.device.isMissing)
      #expect(!hasFile)
      try vault.add(["free": "1"], "free")
    }
    let vault = vault(device)
    let ids = try fill(vault)
    try check(vault, ids)
    #expect(vault.device.backend == .host)
  }

  @Test("The device key belongs to the service from the first unlock on, if there is a service")
  func created() throws {
    let ids = try fill(vault(device))
    #expect(!hasFile)
    let again = vault(device)
    #expect(again.device.backend == .host)
    #expect(try again.secretText(ids[.always] ?? 0) == "of always")
    try home.unlock(again)
    try check(again, ids)
    #expect(again.problemTexts == [])
  }

  @Test("The device key moves from the file to the service at an unlock, and the file is erased")
  func moves() throws {
    let ids = try filled()
    let file = try FileDescriptor.open(home.folder + "/device.key", flags: O_RDONLY)
    do {
      let vault = vault(device)
      #expect(vault.device.backend == .file)
      #expect(try vault.secretText(ids[.always] ?? 0) == "of always")
      vault.settle()
      #expect(hasFile)
      try home.unlock(vault)
      #expect(vault.device.backend == .host)
      try check(vault, ids)
      // The file is erased only after the whole database has been checked and the log is empty.
      #expect(hasFile)
      vault.verifyToEnd()
      vault.settle()
      #expect(!hasFile)
      #expect(Set(try file.readAll(limit: 4096)) == [0])
      #expect(vault.problemTexts == [])
      try check(vault, ids)
    }
    let again = vault(device)
    #expect(again.device.backend == .host)
    #expect(try again.secretText(ids[.always] ?? 0) == "of always")
    try home.unlock(again)
    try check(again, ids)
  }

  @Test("The device key moves at once in a daemon that has run for a while")
  func movesLater() throws {
    var service: StandInDevice?
    let vault = Vault(home: home.path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in service }
    let ids = try fill(vault)
    vault.lock()
    service = device
    try home.unlock(vault)
    #expect(vault.device.backend == .host)
    #expect(!hasFile)
    try check(vault, ids)
  }

  @Test("The device key is not created again if the service is absent, and bound items wait", arguments: [false, true])
  func absent(hasFailed: Bool) throws {
    let ids = try fill(vault(device))
    do {
      let vault = vault(nil, failure: hasFailed ? .unavailable(.device(.silent)) : nil)
      #expect(vault.problemTexts.contains { $0.hasPrefix("device key service: ") })
      #expect(vault.device.isMissing)
      #expect(throws: VaultError.self) { try vault.ids(["class": "always"]) }
      try home.unlock(vault)
      #expect(!hasFile)
      #expect(vault.problemTexts.contains { $0.hasPrefix("device key service: ") })
      try check(vault, ids, except: Self.bound.filter { $0 != .always })
      #expect(throws: VaultError.deviceMissing) { try vault.set(ids[.alwaysThisDeviceOnly] ?? 0, "x") }
      #expect(try vault.device.itemCountOfOthers() == 0)
      let id = try vault.add(["new": "1"], "x")
      for accessibility in Self.bound {
        #expect(throws: VaultError.deviceMissing) { try vault.add(["bound": "1"], "x", accessibility) }
        #expect(throws: VaultError.deviceMissing) {
          try vault.writer.update(item: id, accessibility: accessibility) { _ in }
        }
      }
    }
    let again = vault(device)
    try home.unlock(again)
    try check(again, ids)
    again.verifyToEnd()
    #expect(again.problemTexts == [])
  }

  @Test("The device key comes back at the next unlock in a running daemon")
  func returns() throws {
    let ids = try fill(vault(device))
    var failure: DeviceKeyError? = .unavailable(.device(.silent))
    let vault = Vault(home: home.path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in
      if let failure { throw failure }
      return device
    }
    try home.unlock(vault)
    try check(vault, ids, except: Self.bound.filter { $0 != .always })
    failure = nil
    vault.lock()
    try home.unlock(vault)
    try check(vault, ids)
    #expect(vault.problemTexts == [])
    // The index depends on the device alone again.
    vault.seal()
    #expect(try vault.ids(["class": "always"]) == [ids[.always] ?? 0])
  }

  @Test("The device key stays in the file while the service cannot be used")
  func serviceFails() throws {
    let ids = try filled()
    for failing in [true, false] {
      device.failure = failing ? nil : .unavailable(.verbatim("no"))
      let vault = failing ? vault(nil, failure: .unavailable(.verbatim("no"))) : vault(device)
      try home.unlock(vault)
      #expect(vault.device.backend == .file)
      #expect(vault.problemTexts.contains { $0.hasPrefix("device key service: no") })
      try check(vault, ids)
      vault.verifyToEnd()
      vault.settle()
      #expect(hasFile)
    }
  }

  @Test("The device key stays in the file if the service does not return the share that it was given")
  func serviceLies() throws {
    let ids = try filled()
    device.isLying = true
    let vault = vault(device)
    try home.unlock(vault)
    vault.verifyToEnd()
    vault.settle()
    #expect(vault.device.backend == .file)
    #expect(hasFile)
    try check(vault, ids)
  }

  @Test("The device key is requested again if the service failed halfway", arguments: [false, true])
  func failsHalfway(atCreation: Bool) throws {
    device.failure = atCreation ? .unavailable(.verbatim("no memory")) : nil
    var ids: [AccessibilityClass: Int64] = [:]
    do {
      let vault = vault(device)
      try home.unlock(vault)
      if atCreation {
        #expect(vault.device.isMissing)
        let id = try vault.add(["class": "any"], "free")
        #expect(try vault.secretText(id) == "free")
        device.failure = nil
        vault.lock()
      }
      ids = try fill(vault)
      #expect(vault.problemTexts == [])
    }
    device.failure = .unavailable(.verbatim("no memory"))
    let again = vault(device)
    #expect(again.device.isMissing)
    #expect(again.problemTexts == ["device key service: no memory"])
    try home.unlock(again)
    device.failure = nil
    again.lock()
    try home.unlock(again)
    try check(again, ids)
    #expect(again.problemTexts == [])
    #expect(!hasFile)
  }

  @Test("The device key moves from a file even if the service failed at the unlock")
  func movesAtTheNextUnlock() throws {
    let ids = try filled()
    let vault = vault(device)
    device.failure = .unavailable(.verbatim("other requests came first"))
    try home.unlock(vault)
    #expect(vault.device.backend == .file)
    #expect(vault.waitsForDevice)
    try check(vault, ids)
    try vault.meetDevice()
    #expect(vault.waitsForDevice)
    device.failure = nil
    vault.lock()
    #expect(!vault.waitsForDevice)
    try home.unlock(vault)
    #expect(vault.device.backend == .host)
    #expect(!vault.waitsForDevice)
    try check(vault, ids)
  }

  @Test("The device key moves from a file in the session in which the service answers again")
  func movesInTheSession() throws {
    let ids = try filled()
    let vault = vault(device)
    device.failure = .unavailable(.verbatim("other requests came first"))
    try home.unlock(vault)
    device.failure = nil
    try vault.meetDevice()
    #expect(vault.device.backend == .host)
    #expect(!vault.waitsForDevice)
    #expect(vault.problemTexts == [])
    try check(vault, ids)
  }

  @Test("A device key in a damaged file is not replaced by the service's")
  func damagedFile() throws {
    let ids = try filled()
    let good = home.read("device.key")
    home.write("device.key", Array(good.dropLast()))
    do {
      let vault = vault(device)
      try home.unlock(vault)
      #expect(vault.problemTexts.first?.hasPrefix("device.key: ") == true)
      try check(vault, ids, except: Self.bound.filter { $0 != .always })
    }
    home.write("device.key", good)
    let vault = vault(device)
    try home.unlock(vault)
    #expect(vault.device.backend == .host)
    try check(vault, ids)
  }

  @Test("The device key of another device leaves that device's items as they are", arguments: [nil, 6] as [UInt8?])
  func twoDevices(_ seed: UInt8?) throws {
    let ids = try fill(vault(device))
    let other = seed.map { StandInDevice(seed: $0) }
    do {
      let vault = vault(other, on: Home.otherMachine)
      try home.unlock(vault)
      for one in Self.bound where one != .always {
        #expect(throws: VaultError.otherDevice) { try vault.secretText(ids[one] ?? 0) }
      }
      try check(vault, ids, except: Self.bound.filter { $0 != .always })
      #expect(try vault.device.itemCountOfOthers() == 4)
      #expect(vault.device.backend == (seed == nil ? .file : .host))
      let mine = try vault.add(["mine": "1"], "mine", .whenUnlockedThisDeviceOnly)
      #expect(try vault.secretText(mine) == "mine")
      vault.verifyToEnd()
      vault.settle()
    }
    let vault = vault(device)
    #expect(vault.device.backend == .host)
    try home.unlock(vault)
    try check(vault, ids)
    #expect(try vault.isReadable(try #require(vault.ids(["mine": "1"]).first)) == false)
    vault.verifyToEnd()
    vault.settle()
    #expect(hasFile == (seed == nil), "another device's file is not ours to erase")
  }

  @Test("A device key that two machines had in one file stays for the second when the first gets a service")
  func sharedFile() throws {
    let ids = try filled()
    do {
      let vault = vault(nil, on: Home.otherMachine)
      try home.unlock(vault)
      try vault.add(["second": "1"], "second", .whenUnlockedThisDeviceOnly)
    }
    do {
      let vault = vault(device)
      try home.unlock(vault)
      #expect(vault.device.backend == .host)
      vault.verifyToEnd()
      vault.settle()
      try check(vault, ids)
    }
    #expect(hasFile)
    let vault = vault(nil, on: Home.otherMachine)
    try home.unlock(vault)
    #expect(try vault.secretText(try #require(vault.ids(["second": "1"]).first)) == "second")
  }

  @Test("A device key in a file that the service did not replace is not erased", arguments: [false, true])
  func strangeFile(hasMoved: Bool) throws {
    let ids = hasMoved ? try filled() : try fill(vault(device))
    if hasMoved {
      let vault = vault(device)
      try home.unlock(vault)
      vault.verifyToEnd()
      vault.settle()
      #expect(!hasFile)
    }
    // The file could come from a backup of an older vault.
    let other = try Home()
    try other.unlock(other.vault())
    home.write("device.key", other.read("device.key"))
    let vault = vault(device)
    try home.unlock(vault)
    vault.verifyToEnd()
    vault.settle()
    #expect(vault.device.backend == .host)
    #expect(home.read("device.key") == other.read("device.key"))
    try check(vault, ids)
  }

  @Test("A device key whose erasable secret is gone takes only the whenPasscodeSet items with it")
  func erased() throws {
    let ids = try fill(vault(device))
    device.hasErased = true
    let vault = vault(device)
    try home.unlock(vault)
    try check(vault, ids, except: [.whenPasscodeSetThisDeviceOnly])
    #expect(vault.problemTexts == [])
  }

  @Test("The device key moves without the items that were destroyed before")
  func movesErased() throws {
    let ids = try filled()
    var file = home.read("device.key")
    file[45] ^= 1
    let body = Array(file.dropLast(32))
    home.write("device.key", body + Sodium.checksum(body.span.bytes))
    for _ in 0..<2 {
      let vault = vault(device)
      try home.unlock(vault)
      #expect(vault.device.backend == .host)
      try check(vault, ids, except: [.whenPasscodeSetThisDeviceOnly])
    }
  }

  @Test("A mark of the service that is damaged or foreign", arguments: ["cut", "flipped", "empty"])
  func damagedMark(_ how: String) throws {
    _ = try fill(vault(device))
    let good = home.read("device.service")
    #expect(good.count == 76)
    var bytes = good
    switch how {
    case "cut": bytes.removeLast()
    case "flipped": bytes[20] ^= 1
    default: bytes = []
    }
    home.write("device.service", bytes)
    let vault = vault(nil)
    try home.unlock(vault)
    #expect(!hasFile)
    #expect(home.read("device.service") == bytes)
  }

  /// Puts the files that exist before the process starts onto the disk of the power cut.
  private func seedDurable(_ durable: String, with home: Home) throws {
    var names = ""
    for name in home.names {
      var status = stat()
      try #require(stat(home.folder + "/" + name, &status) == 0)
      names += "\(status.st_ino) \(name)\n"
      writeFile(durable + "/\(status.st_ino)", home.read(name))
    }
    writeFile(durable + "/names", Array(names.utf8))
  }

  @Test("The device key moves as a whole, or not at all, whenever the move is interrupted")
  func interrupted() throws {
    let shim = try #require(CrashTests.shim, "no C compiler")
    let ids = try filled()
    let keys = plain(home.tiers.unlocked) + plain(home.tiers.session)
    var points = 0
    var states: Set<String> = []
    for call in Cuts.calls {
      let copy = try Home(copying: home)
      let durable = CrashTests.newFolder()
      defer { removeTree(durable) }
      try seedDurable(durable, with: copy)
      let process = try Command(
        Command.crashing, ["move", copy.path], input: keys,
        environment: CrashTests.environment(shim, copy, durable, dieAt: call))
      let told = process.lines()
      let status = process.wait()
      #expect(told.allSatisfy { !$0.hasPrefix("error") }, "\(told)")
      for rest in CrashTests.Unsynchronised.allCases {
        let after = try CrashTests.afterCut(copy, durable, rest, seed: UInt64(call))
        let vault = Vault(home: after.path, owner: getuid(), machine: Home.machine) { () throws(DeviceKeyError) in
          StandInDevice(seed: 5)
        }
        states.insert("\(vault.device.backend?.rawValue ?? "none") \(after.names.contains("device.key"))")
        try after.unlock(vault)
        for (one, id) in ids { #expect(try vault.secretText(id) == "of \(one)", "call \(call), writes \(rest)") }
        vault.verifyToEnd()
        vault.settle()
        #expect(vault.problemTexts == [])
        #expect(vault.device.backend == .host)
        #expect(!after.names.contains { $0.hasPrefix("device.key") }, "\(after.names)")
      }
      if status == 0 { break }
      try #require(status == -SIGKILL)
      points += 1
    }
    #expect(points > Cuts.enough(10))
    #expect(states == ["file true", "host true", "host false"])
  }
}
