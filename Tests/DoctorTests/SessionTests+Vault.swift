import Foundation
import Testing

@testable import LatchkeyDoctor

/// Memory, the vault's files, and the home folder.
extension SessionTests {
  @Test func memory() throws {
    for (id, process) in [("memory.manager", 10), ("memory.daemon", 11)] {
      let name = process == 10 ? "systemd" : "latchkeyd"
      for (limit, condition) in [("65536", Finding.Condition.warning), ("unlimited", .ok), ("8388608", .ok)] {
        let found = try after(id) {
          try $0.process(process, name, uid: Int(getuid()), arguments: [name, "--user"], lock: limit)
        }
        #expect(found.condition == condition)
        #expect((found.fix == nil) == (condition == .ok))
      }
      #expect(try after(id) { try $0.remove("/proc/\(process)") }.condition == .unknown)
      #expect(try after(id) { try $0.remove("/proc/\(process)/limits") }.condition == .unknown)
    }
    #expect(try told("memory.locked", { $0.vault = .known(Self.vault(locked: false)) }).condition == .broken)
  }

  @Test func freedMemory() throws {
    let config = "/boot/config-6.1.0"
    for (cmdline, built, clears) in [
      ("root=/dev/sda quiet", "CONFIG_X=y\n", false), ("root=/dev/sda init_on_free=1 quiet", "", true),
      ("quiet", "CONFIG_X=y\nCONFIG_INIT_ON_FREE_DEFAULT_ON=y\n", true),
      ("init_on_free=0", "CONFIG_INIT_ON_FREE_DEFAULT_ON=y\n", false), ("init_on_free=1 init_on_free=0", "", false),
      ("quiet", "# CONFIG_INIT_ON_FREE_DEFAULT_ON is not set\n", false), ("init_on_free=on", "", true),
    ] {
      let found = try after("memory.freed") {
        try $0.put("/proc/cmdline", cmdline + "\n")
        try $0.put("/proc/sys/kernel/osrelease", "6.1.0\n")
        try $0.put(config, built)
      }
      #expect(found.condition == .ok)
      #expect(found.fix == nil)
      #expect(found.found.contains("does not clear") != clears, "\(cmdline), \(built)")
      #expect(found.found.contains("the boot option init_on_free=1") != clears)
    }
  }

  @Test func vault() throws {
    let found = try told("vault", { $0.vault = .known(Self.vault(problems: ["vault.db: damaged", "x"])) })
    #expect(found.condition == .broken && found.found == "vault.db: damaged; x" && found.command == nil)
    var changed = Self.facts()
    changed.vault = .known(
      .init(
        deviceKey: "tpm", isMemoryLocked: true, isFirstUnlocked: false, isCreated: true, path: "/v",
        problems: ["changed"],
        lockSources: ["logind"], needsFormerPassword: true))
    let former = try #require(Self.findings(try Self.system(), changed).one("vault"))
    #expect(former.condition == .broken && former.command == "latchkey unlock")
    #expect(former.advice?.contains("the former one or the recovery code") == true)
    for (backend, condition) in [
      ("tpm", Finding.Condition.ok), ("host", .ok), ("", .ok), ("file", .warning), ("unavailable", .broken),
    ] {
      #expect(try told("device-key", { $0.vault = .known(Self.vault(device: backend)) }).condition == condition)
    }
    // Without a vault there is nothing to lock or unlock, and 'latchkey unlock' creates no vault without a password.
    let none = try told("device-key", { $0.vault = .known(Self.vault(device: "unavailable", created: false)) })
    guard case .advice(let advice) = none.fix else { return #expect(Bool(false), "\(none)") }
    #expect(none.condition == .broken && advice.contains("log out and in again") && !advice.contains("latchkey unlock"))
    // A repair that worked, alone and together with another problem.
    for (problems, condition) in [(["repaired"], Finding.Condition.warning), (["repaired", "x"], .broken)] {
      let found = try told("vault") {
        $0.vault = .known(
          .init(
            deviceKey: "tpm", isMemoryLocked: true, isFirstUnlocked: true, isCreated: true, path: "/v",
            problems: problems, lockSources: ["logind"], repairs: ["repaired"]))
      }
      #expect(found.condition == condition && found.found.contains("repaired"))
      #expect(found.advice?.contains("until you log out") == (condition == .warning))
    }
    // Damage that no restart repairs.
    for damage in [DesktopFacts.Vault.DeviceDamage.service, .user, .chip, .file] {
      var facts = Self.facts()
      facts.vault = .known(
        .init(
          deviceKey: "unavailable", isMemoryLocked: true, isFirstUnlocked: true, isCreated: true, path: "/v",
          problems: ["x"], lockSources: ["logind"], deviceDamage: damage))
      let found = Self.findings(try Self.system(), facts)
      let key = try #require(found.one("device-key"))
      #expect(
        key.condition == .broken && key.command == nil && found.one("vault")?.advice?.contains("device-key") == true)
      #expect(key.advice?.contains("/v/device.key") == (damage == .file))
      #expect(key.advice?.contains("device move tpm") == (damage == .chip))
      // If one user's file is damaged, doctor does not set aside the other users' keys.
      #expect(key.advice?.contains("/var/lib/latchkey.damaged") == (damage == .service || damage == .chip))
    }
    let hint = try told("device-key", { $0.vault = .known(Self.vault(device: "host")) }) {
      try $0.put("/dev/tpmrm0", "")
    }
    #expect(hint.found.contains("latchkey device move tpm"))
    for id in ["vault", "device-key", "memory.locked"] {
      #expect(try told(id, { $0.vault = .unknown("why") }) == .unknown(id, "why"))
    }
  }

  @Test("If only a backup helps, doctor says that an empty vault comes first")
  func startAgain() throws {
    let found = try told("vault.files", { _ in }) {
      for name in ["keybag", "keybag.copy"] { try $0.put("\(Self.home)/.local/share/latchkey/\(name)", "cut") }
    }
    let words = try #require(found.advice).split(separator: "'").map(String.init)
    #expect(
      words.filter { $0.hasPrefix("latchkey ") } == ["latchkey start-empty", "latchkey unlock", "latchkey restore"])
  }

  @Test("An account without a valid password cannot have a vault")
  func lockedAccount() throws {
    #expect(try told("vault.files", { $0.lockedAccount = nil }).condition == .ok)
    let found = try told("vault.files", { $0.lockedAccount = "anna" })
    #expect(found.condition == .warning && found.found.contains("no local password"))
    guard case .advice(let advice)? = found.fix else { Issue.record("no advice"); return }
    #expect(advice.contains("'sudo passwd anna'") && advice.contains("mask latchkeyd.socket latchkeyd.service"))
  }

  @Test func home() throws {
    #expect(try told("home.file-system", { _ in }).found == "/home is btrfs")
    let mounts =
      "22 1 0:20 / / rw - ext4 /dev/vda rw\n23 22 0:21 / /home/anna rw - autofs x rw\n24 23 0:22 / /home/anna rw a b - nfs4 a:/ rw\n"
    #expect(try after("home.file-system") { try $0.put("/proc/self/mountinfo", mounts) }.condition == .warning)
    let below = mounts + "25 24 0:23 / /home/anna/.local/share rw - ext4 /dev/vdb rw\n"
    #expect(try after("home.file-system") { try $0.put("/proc/self/mountinfo", below) }.condition == .ok)
    func mode(_ mode: Int, _ path: String) throws -> Finding {
      try after("home.folders") {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: $0.path + path)
      }
    }
    #expect(try mode(0o777, Self.home).fix == .command("chmod go-w /home/anna"))
    #expect(try mode(0o755, Self.home).condition == .ok)
    #expect(
      try mode(0o750, "\(Self.home)/.local/share/latchkey").fix
        == .command("chmod 700 /home/anna/.local/share/latchkey"))
    #expect(try told("home.folders", { $0.uid = getuid() &+ 1 }).condition == .broken)
    let odd = try FakeSystem(["/home/it's me/x": ""])
    var facts = Self.facts()
    facts.home = "/home/it's me"
    try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: odd.path + facts.home)
    #expect(Self.findings(odd, facts).one("home.folders")?.fix == .command("chmod go-w '/home/it'\\''s me'"))
  }
}
