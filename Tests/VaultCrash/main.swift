// Tests kill this process. It changes a vault, and reports each acknowledged change as a line on its standard output. The keys come
// on standard input: tier key A and tier key C, 32 bytes each.
//
//     VaultCrash store HOME COUNT FROM   unlocks, then stores, replaces and deletes items, numbered from FROM
//     VaultCrash hold HOME               unlocks, stores one and waits
//     VaultCrash restore HOME COUNT      unlocks, then restores so many items, half of them into a new collection
//     VaultCrash found HOME              creates a vault with the password on standard input
//     VaultCrash replace HOME COUNT      rewrites the keybag, the password on standard input
//     VaultCrash move HOME               unlocks if there is a device key service
//     VaultCrash rotate HOME COUNT       gives the vault new keys and stores COUNT items meanwhile, the same
//     VaultCrash heal HOME               unlocks a vault whose database is damaged
//     VaultCrash mend HOME               opens a vault whose keybag is damaged
//     VaultCrash keep HOME               unlocks, then makes a generation

import Glibc
import LatchkeyBackup
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySodium
import LatchkeyStandInDevice
import LatchkeyVault

/// Reports that a database was healed.
final class SayingHealed: VaultDelegate {
  func wasHealed(_ healing: Healing) { say("healed") }
  func wasHealed(_ healing: KeybagHealing) {}
  func foundOlder(_ files: OlderFiles) {}
  func changedProtectors(added: [Protector], removed: [Protector]) {}
  func foundDamage() {}
}

func say(_ line: String) {
  let text = Array((line + "\n").utf8)
  guard write(1, text, text.count) == text.count else { exit(3) }
}

/// The standard input. Nothing in this program needs to stay secret.
func input() throws -> [UInt8] { try FileDescriptor(owning: dup(0)).readAll(limit: 4096) }

func tierKeys() throws -> TierKeys {
  let bytes = try input()
  let unlocked = try Key(copying: bytes.span.bytes.extracting(0..<32))
  let session = try Key(copying: bytes.span.bytes.extracting(32..<64))
  return TierKeys(unlocked: unlocked, session: session)
}

func item(_ number: Int) -> ItemMetadata {
  ItemMetadata(label: "item \(number)", attributes: ["n": "\(number)", "app": "crash"], contentType: "text/plain")
}

func secret(_ text: String) throws -> SecureBytes { try SecureBytes(copying: Array(text.utf8).span.bytes) }

func store(_ home: String, _ count: Int, from start: Int, thenWait: Bool = false) throws {
  let tiers = try tierKeys()
  let vault = Vault(home: home, owner: getuid(), machine: [UInt8](repeating: 7, count: 16))
  try vault.unlock(tiers, opening: .everything, liftingLocks: true, mayCreate: true)
  say("unlocked")
  while vault.verifyStep() {}
  for number in start..<(start + count) {
    _ = try vault.writer.createItem(
      NewItem(item(number), in: 1), secret: try secret("secret \(number)"))
    say("stored \(number)")
    let latest = ItemMetadata(label: "latest", attributes: ["latest": "yes"], contentType: "text/plain")
    var next = NewItem(latest, in: 1)
    next.replaces = true
    _ = try vault.writer.createItem(next, secret: try secret("latest \(number)"))
    say("latest \(number)")
    if number % 5 == 4, let found = try vault.reader.search(.attributes(["n": "\(number - 2)"])).first {
      try vault.writer.deleteItem(found.id)
      say("deleted \(number - 2)")
    }
    if number % 4 == 3 { vault.settle() }
  }
  if thenWait { withExtendedLifetime(vault) { _ = pause() } }
}

func restore(_ home: String, _ count: Int) throws {
  let tiers = try tierKeys()
  let vault = Vault(home: home, owner: getuid(), machine: [UInt8](repeating: 7, count: 16))
  try vault.unlock(tiers, opening: .everything, liftingLocks: true, mayCreate: true)
  say("unlocked")
  let restore = try Restore(vault, id: Sodium.randomBytes(16), takingTheirs: false, isDry: false)
  try restore.take(.beginning(BackupBeginning(vault: Sodium.randomBytes(16), device: nil)))
  for (label, aliases) in [("Login", BackupCollection.Aliases.login), ("Restored", [])] {
    try restore.take(
      .collection(
        BackupCollection(
          uuid: Sodium.randomBytes(16), label: label, aliases: aliases, hadPassphrase: false, created: 1)))
  }
  for number in 0..<count {
    try restore.take(
      .item(
        BackupItem(
          collection: UInt32(number % 2), accessibility: .whenUnlocked, created: 1, modified: 1,
          metadata: item(number).encoded(revision: [UInt8](repeating: 0, count: 16)),
          secret: try secret("secret \(number)"))))
  }
  say("ready")
  _ = try restore.finish()
  say("restored")
  vault.settle()
}

func create(_ home: String) throws {
  let password = try input()
  _ = try KeybagFile.create(home: home, owner: getuid()) { () throws(KeybagError) in
    try Keybag.create(password: password.span.bytes, cost: PasswordCost(passes: 3, memory: 32 << 20))
  }
  say("created")
}

func replace(_ home: String, _ count: Int) throws {
  let password = try input()
  let folder = try KeybagFile.folder(home: home, owner: getuid())
  for _ in 0..<count {
    let present = try KeybagFile.load(from: folder)
    let next = try present.open(password: password.span.bytes).proving()
    try KeybagFile.replace(present, with: next, in: folder)
    say("generation \(next.generation)")
  }
}

func move(_ home: String) throws {
  let tiers = try tierKeys()
  let vault = Vault(home: home, owner: getuid(), machine: [UInt8](repeating: 7, count: 16)) {
    () throws(DeviceKeyError) in StandInDevice(seed: 5)
  }
  try vault.unlock(tiers, opening: .everything, liftingLocks: true, mayCreate: false)
  say("unlocked")
  while vault.verifyStep() {}
  vault.settle()
  say("settled")
}

func heal(_ home: String) throws {
  let vault = Vault(home: home, owner: getuid(), machine: [UInt8](repeating: 7, count: 16))
  let told = SayingHealed()
  vault.delegate = told
  try withExtendedLifetime(told) {
    try vault.unlock(try tierKeys(), opening: .everything, liftingLocks: true, mayCreate: false)
  }
}

func mend(_ home: String) throws {
  let vault = Vault(home: home, owner: getuid(), machine: [UInt8](repeating: 7, count: 16))
  if vault.keybagHealing != nil { say("healed") }
}

func keep(_ home: String) throws {
  let vault = Vault(home: home, owner: getuid(), machine: [UInt8](repeating: 7, count: 16))
  try vault.unlock(try tierKeys(), opening: .everything, liftingLocks: true, mayCreate: false)
  while vault.verifyStep() {}
  while vault.hasHistoryWork, vault.keepHistory() {}
  say("kept \(vault.history.generations.count)")
}

func rotate(_ home: String, _ count: Int) throws {
  let password = try input()
  let folder = try KeybagFile.folder(home: home, owner: getuid())
  let opened = try KeybagFile.load(from: folder).open(password: password.span.bytes)
  let vault = Vault(home: home, owner: getuid(), machine: [UInt8](repeating: 7, count: 16))
  try vault.unlock(
    try opened.tiers(), former: try opened.formerTiers(), opening: .everything, liftingLocks: true, mayCreate: false)
  while vault.verifyStep() {}
  say("unlocked")
  let next = try opened.rotated(
    password: password.span.bytes, cost: PasswordCost(passes: 3, memory: 32 << 20))
  try KeybagFile.replace(opened.keybag, with: next.keybag, in: folder)
  say("keybag")
  vault.refresh()
  try vault.unlock(
    try next.tiers(), former: try next.formerTiers(), opening: .everything, liftingLocks: false, mayCreate: false)
  say("renewed")
  for number in 0..<count {
    _ = try vault.writer.createItem(
      NewItem(item(1000 + number), in: 1), secret: try secret("secret \(1000 + number)"))
    say("stored \(1000 + number)")
    if number == 0 { while try vault.rotation.step() {} }
  }
  if let settled = try next.dropping(epochsBefore: vault.rotation.neededEpoch, proving: false) {
    try KeybagFile.replace(next.keybag, with: settled, in: folder)
  }
  say("settled")
}

do {
  try Sodium.initialize()
  let arguments = CommandLine.arguments
  guard arguments.count >= 3 else { exit(2) }
  let count = arguments.count > 3 ? Int(arguments[3]) ?? 1 : 1
  let start = arguments.count > 4 ? Int(arguments[4]) ?? 0 : 0
  switch arguments[1] {
  case "store": try store(arguments[2], count, from: start)
  case "hold": try store(arguments[2], 1, from: start, thenWait: true)
  case "restore": try restore(arguments[2], count)
  case "create": try create(arguments[2])
  case "move": try move(arguments[2])
  case "heal": try heal(arguments[2])
  case "mend": try mend(arguments[2])
  case "keep": try keep(arguments[2])
  case "rotate": try rotate(arguments[2], count)
  case "replace": try replace(arguments[2], count)
  default: exit(2)
  }
} catch {
  say("error \(error)")
  exit(1)
}
