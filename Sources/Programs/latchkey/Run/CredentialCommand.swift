import ArgumentParser
import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySecretClient
import LatchkeySodium
import LatchkeySystemd

/// `latchkey credential`: gives a systemd unit the secret that its `LoadCredential=` names. systemd starts one process of this
/// command for each connection, so the daemon has no part in it.
struct CredentialCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "credential", abstract: translated("Give a unit of systemd the secret that it asks for."),
    discussion: translated(
      """
      latchkey-credentials@.service starts this command, with the unit's connection as standard input. The secret is that of the \
      item with the attributes systemd-unit=UNIT and systemd-credential=NAME. An item that is locked with the screen is given \
      only if it has the attribute systemd-unlocked=yes as well. Nobody is asked: a unit gets nothing while the item is locked.

      Example, for a unit backup.service with LoadCredential=token:%t/latchkey/credentials:
        latchkey add --label Backup --class after-first-unlock systemd-unit=backup.service systemd-credential=token
      """))

  private static let unit = "systemd-unit"
  private static let credential = "systemd-credential"
  private static let unlocked = "systemd-unlocked"

  @OptionGroup var place: DaemonPlace

  func run() throws {
    try Failure.telling {
      let connection = FileDescriptor(owning: STDIN_FILENO)
      guard let peer = try? connection.peer(), peer.uid == getuid() || peer.uid == 0,
        let asked = connection.peerName().flatMap(Self.asked)
      else { throw Failure.declined(translated("standard input is not a connection of a unit's LoadCredential=.")) }
      try LatchkeyPosix.Process.forbidInspection()
      try Sodium.initialize()
      let vault = try VaultConnection(place)
      let attributes = [Self.unit: asked.unit, Self.credential: asked.credential]
      guard let item = try ItemSelector.found(attributes, from: vault).first else {
        throw Failure.noItem(
          translated(
            "no item has the attributes systemd-unit=\(asked.unit) and systemd-credential=\(asked.credential)."))
      }
      guard let tier = item.accessibility?.tier, tier != .unlocked || item.attributes?[Self.unlocked] == "yes" else {
        throw Failure.declined(
          translated("the item \(item.place) is locked with the screen, and lacks the attribute systemd-unlocked=yes."))
      }
      let channel = try vault.openChannel()
      let secret = try vault.opening(item.path, asking: false) { try vault.secret(of: item.path, by: channel) }
      try secret.withBytes { try connection.sendAll($0) }
    }
  }

  /// The unit and the credential that systemd's end of a connection names: "\0RANDOM/unit/UNIT/CREDENTIAL".
  static func asked(_ name: [UInt8]) -> (unit: String, credential: String)? {
    guard name.first == 0 else { return nil }
    let parts = String(decoding: name.dropFirst(), as: UTF8.self).split(
      separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[1] == "unit", !parts[2].isEmpty, !parts[3].isEmpty else { return nil }
    return (String(parts[2]), String(parts[3]))
  }
}
