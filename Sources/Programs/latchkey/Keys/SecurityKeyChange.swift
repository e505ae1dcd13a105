import CLatchkeyHelper
import Glibc
import LatchkeyControl
import LatchkeyGettext
import LatchkeyHelperProgram
import LatchkeyKeybag
import LatchkeyPosix
import LatchkeySecurityKeys
import LatchkeySodium
import LatchkeySystemd

/// Adds, removes and renames security keys.
struct SecurityKeyChange {
  let place: DaemonPlace
  let asking: RootKeyAsking

  /// Adds the key that is connected.
  func add(named name: String?) throws {
    try Failure.telling {
      let status = try RootKeyAsking.statusToAdd(at: place)
      let program = try asking.program(place, vault: status.vaultPath)
      let keys = try SecurityKeyAsking(asking, status)
      let names = keys.keybag.securityKeys.map(\.name)
      guard names.count < Keybag.securityKeyLimit else {
        throw Failure.declined(
          translated("the vault has \(names.count) security keys, and cannot have more. Remove one first."))
      }
      if let name { try Self.check(name, beside: names) }
      let product = try keys.look().product
      let chosen = name ?? Self.name(of: product, beside: names)
      // Only a person who knows the password adds a way into the vault. PAM checks it before the key makes a credential.
      let terminal = try asking.conversation()
      let passwords = try asking.passwords(terminal)
      let made = try keys.work(.enroll, terminal)
      var facts = try SecureBytes(count: Key.size + 1 + chosen.utf8.count + made.credential.count)
      facts.write(made.secret.bytes, at: 0)
      facts.write(([UInt8(chosen.utf8.count)] + Array(chosen.utf8) + made.credential).span.bytes, at: Key.size)
      try run(.addSecurityKey, facts, passwords, program)
      Journal.record(.notice, "a security key was added to what unlocks the vault")
      print(translated("The security key unlocks the vault from now on, under the name \(chosen)."))
      print(
        translated(
          """
          Whoever has the key and its PIN can read all your secrets. Keep another way, for the day on which the key is lost:
          your password unlocks the vault as before, and 'latchkey recovery create' makes a code on paper.
          """))
    }
  }

  /// Removes a key, which may be lost.
  func remove(_ name: String) throws {
    try Failure.telling {
      let (program, passwords) = try begin(with: name)
      try run(.removeSecurityKey, try Self.names(name), passwords, program)
      Journal.record(.notice, "a security key was removed from what unlocks the vault")
      print(translated("The security key \(name) no longer unlocks the vault."))
      print(
        translated(
          """
          An older copy of the keybag, as in a backup of your files, still opens with that key and its PIN. If the key is lost,
          run 'latchkey rotate': it gives the vault new keys, which no such copy has.
          """))
    }
  }

  /// Gives a key another name.
  func rename(_ name: String, to newName: String) throws {
    try Failure.telling {
      let (program, passwords) = try begin(with: name) { names in
        try Self.check(newName, beside: names.filter { $0 != name })
      }
      try run(.renameSecurityKey, try Self.names(name, newName), passwords, program)
      print(translated("The security key has the name \(newName) now."))
    }
  }

  /// Asks for the password, if there is a key of that name.
  ///
  /// - Parameter check: looks at the names of all keys first.
  private func begin(
    with name: String, check: ([String]) throws -> Void = { _ in }
  ) throws -> (DeriveProgram, [GivenSecret]) {
    try RootKeyAsking.prepare()
    let status = try RootKeyAsking.statusOfVault(at: place)
    let names = try SecurityKeyAsking.keybag(status).securityKeys.map(\.name)
    try check(names)
    guard names.contains(name) else {
      let list = names.joined(separator: ", ")
      throw Failure.declined(
        names.isEmpty
          ? translated("the vault has no security key.")
          : translated("the vault has no security key of that name. It has: \(list)."))
    }
    return (try asking.program(place, vault: status.vaultPath), try asking.passwords(try asking.conversation()))
  }

  private func run(
    _ operation: HelperOperation, _ facts: borrowing SecureBytes, _ passwords: [GivenSecret], _ program: DeriveProgram
  ) throws {
    var answer: HelperResult? = .wrongPassword
    for password in passwords where answer == .wrongPassword {
      answer = try program.run(operation, token: password.bytes, password: facts, given: password.given)
    }
    guard answer != .nothingNeeded else {
      throw Failure.declined(
        translated("another command changed the security keys at the same moment. See 'latchkey protector'."))
    }
    guard answer == .done else { throw answer.failure(wrong: RootKeyAsking.oldPassword) }
  }

  /// A name with its length in front, and then another name.
  private static func names(_ name: String, _ other: String = "") throws -> SecureBytes {
    try SecureBytes(copying: ([UInt8(clamping: name.utf8.count)] + Array(name.utf8) + Array(other.utf8)).span.bytes)
  }

  private static func check(_ name: String, beside names: [String]) throws {
    guard SecurityKey.isName(name) else {
      throw Failure.declined(
        translated(
          "a name has 1 to \(SecurityKey.nameLimit) bytes, no control character, and no blank at either end."))
    }
    guard !names.contains(name) else {
      throw Failure.declined(translated("another security key has that name already. Give another one."))
    }
  }

  /// A name for a key of that model.
  static func name(of product: String, beside names: [String]) -> String {
    let room = SecurityKey.nameLimit - 4
    let words = product.utf8.count <= room && SecurityKey.isName(product) ? product : translated("security key")
    return (1...).lazy.map { $0 == 1 ? words : "\(words) \($0)" }.first { !names.contains($0) } ?? words
  }
}
