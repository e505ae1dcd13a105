import Glibc
import LatchkeyGettext
import LatchkeyKeybag
import LatchkeyText

/// Checks the vault itself: the problems that it reports, its device key, and its folders.
struct VaultExamination {
  let root: SystemRoot
  let facts: DesktopFacts

  func findings() -> [Finding] {
    [vault(), VaultFilesExamination(root: root, facts: facts).finding(), device(), fileSystem(), folder()]
  }

  private func vault() -> Finding {
    let id = "vault"
    switch facts.vault {
    case .unknown(let why): return .unknown(id, why)
    case .known(let vault):
      if vault.problems.isEmpty { return .ok(id, vault.path) }
      let found = vault.problems.joined(separator: "; ")
      if vault.needsFormerPassword {
        return Finding(
          id, .broken, found, fix: .command("latchkey unlock"),
          remark: translated("It asks for your present password, then for the former one or the recovery code."))
      }
      let rest = vault.problems.filter { !vault.repairs.contains($0) }
      if rest.isEmpty {
        return Finding(
          id, .warning, found,
          fix: .advice(
            translated(
              """
              The vault was repaired, and can be used. This line stays until you log out. If an item is missing, bring it back \
              with 'latchkey history restore', or from a backup with 'latchkey restore'. Then delete the damaged file, if \
              'latchkey status' names one.
              """)))
      }
      if vault.deviceDamage != nil, rest.count == 1 {
        return Finding(id, .broken, found, fix: .advice(translated("See the finding device-key.")))
      }
      return Finding(
        id, .broken, found,
        fix: .advice(
          translated(
            """
            See the other findings and 'latchkey status'. If a file of the vault is damaged, 'latchkey lock && \
            latchkey unlock' repairs what can be repaired. For rules.yaml, 'latchkey rules check' names the line to \
            correct.
            """)))
    }
  }

  private func device() -> Finding {
    let id = "device-key"
    switch facts.vault {
    case .unknown(let why): return .unknown(id, why)
    case .known(let vault):
      switch vault.deviceKey {
      case "tpm": return .ok(id, translated("sealed to the TPM"))
      case "host":
        return .ok(
          id,
          root.contains("/dev/tpmrm0")
            ? translated(
              "a file that only the system service reads; 'sudo latchkey device move tpm' seals it to the TPM")
            : translated("a file that only the system service reads"))
      case "": return .ok(id, translated("none yet: the first unlock creates it"))
      case "file":
        return Finding(
          id, .warning, translated("a file beside the vault: anybody who copies it and /etc/machine-id has the key"),
          fix: .command("sudo systemctl start latchkey-deviced.socket && latchkey lock && latchkey unlock"))
      case _ where !vault.isCreated:
        return Finding(
          id, .broken, translated("it could not be used when your login should have created the vault"),
          fix: .advice(
            translated(
              """
              Run 'sudo systemctl restart latchkey-deviced.socket', then log out and in again: that login creates the vault.
              """)))
      default:
        return Finding(
          id, .broken, translated("it cannot be used, so secrets bound to this device cannot be read"),
          fix: vault.deviceDamage.map { .advice(advice($0, vault.path)) }
            ?? .command("sudo systemctl restart latchkey-deviced.socket && latchkey lock && latchkey unlock"))
      }
    }
  }

  /// Advice to a person whose device key is damaged: the ways to restore it, and the way without it.
  private func advice(_ damage: DesktopFacts.Vault.DeviceDamage, _ vault: String) -> String {
    let again = "latchkey lock && latchkey unlock"
    let stop = "sudo systemctl stop latchkey-deviced.socket latchkey-deviced.service"
    let start = "sudo systemctl start latchkey-deviced.socket"
    let restoring: String
    let renewing: String
    switch damage {
    case .file:
      let path = "\(vault)/device.key"
      let move: ShellCommand = "mv -nT \(path) \(root.freeName(path + ".damaged"))"
      let command = "\(move.line) && \(again)"
      restoring = translated("Put \(vault)/device.key back from a copy of the vault's folder, then run '\(again)'.")
      renewing = translated("Without a copy, these secrets are lost. To create a new key: \(command)")
    case .service, .user:
      restoring = translated(
        """
        Run '\(stop)'. Put /var/lib/latchkey back from a backup, with its owner (root) and modes. Then run '\(start) && \
        \(again)'.
        """)
      renewing =
        damage == .user
        ? translated(
          """
          Without a backup, 'latchkey device forget' gives this user a new key, and these secrets are lost: see \
          latchkey-device(1).
          """) : VaultExamination.renewing(stop, start, again)
    case .chip:
      restoring = translated(
        """
        Run '\(stop)'. Put /var/lib/latchkey back from a backup that was made before 'latchkey device move tpm', with its \
        owner (root) and modes. Then run '\(start) && \(again)'.
        """)
      renewing = VaultExamination.renewing(stop, start, again)
    }
    return restoring + " " + renewing
  }

  private static func renewing(_ stop: String, _ start: String, _ again: String) -> String {
    let command = "\(stop) && sudo mv /var/lib/latchkey /var/lib/latchkey.damaged && \(start) && \(again)"
    return translated(
      "Without a backup, these secrets are lost for all users of the machine. To create a new key: \(command)")
  }

  // MARK: - folders

  private static let remote: Set<String> = [
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "9p", "gfs2", "ocfs2", "beegfs",
    "ncpfs",
    "fuse.sshfs", "fuse.glusterfs", "fuse.ceph", "fuse.davfs", "fuse.rclone", "fuse.s3fs",
  ]

  private var path: String { "\(facts.home)/.local/share/latchkey" }

  private func fileSystem() -> Finding {
    let id = "home.file-system"
    guard case .text(let mounts) = root.content("/proc/self/mountinfo", limit: 1 << 20) else {
      return .unknown(id, translated("the list of mounts cannot be read"))
    }
    // A link may lead to the vault, or to the nearest existing folder above it. Mounts below the home count too.
    var best: (mount: Substring, type: Substring)?
    for line in mounts.split(separator: "\n") {
      let words = line.split(separator: " ")
      guard words.count > 6, let dash = words.firstIndex(of: "-"), dash + 1 < words.count else { continue }
      let (mount, type) = (words[4], words[dash + 1])
      guard mount == "/" || path == mount || path.hasPrefix(mount + "/") else { continue }
      if mount.count >= best?.mount.count ?? 0 { best = (mount, type) }
    }
    guard let best else { return .unknown(id, translated("the file system of the home folder is not known")) }
    if let finding = readOnlyDisk(id) ?? fullDisk(id) { return finding }
    guard VaultExamination.remote.contains(String(best.type)) else {
      return .ok(id, translated("\(best.mount) is \(best.type)"))
    }
    return Finding(
      id, .warning,
      translated("\(best.mount) is \(best.type): a vault on a remote disk must be used from one machine at a time"),
      fix: .advice(translated("Move \(path) to a folder of yours on a local disk, and put a link in its place.")))
  }

  /// Checks for a read-only disk. Even to read a secret, SQLite must write a file there.
  private func readOnlyDisk(_ id: String) -> Finding? {
    guard root.isReadOnly(place) else { return nil }
    return Finding(
      id, .broken, translated("the file system of \(place) is mounted read-only"),
      fix: .advice(translated("Mount it for writing, then log in again.")))
  }

  /// The vault's folder, or the place where a new vault would be made.
  private var place: String { root.contains(path) ? path : facts.home }

  /// A disk with so little space that a login creates no vault, and a vault can store little more.
  private func fullDisk(_ id: String) -> Finding? {
    guard let free = root.freeSpace(place), free < KeybagFile.leastRoom else { return nil }
    return Finding(
      id, .warning,
      translated("less than \(KeybagFile.leastRoom >> 20) MiB are free on the disk of \(place)"),
      fix: .advice(translated("Free some space. After that, if there is no vault yet, run 'latchkey unlock'.")))
  }

  private func folder() -> Finding {
    let id = "home.folders"
    guard let home = root.status(facts.home) else {
      return .unknown(id, translated("\(facts.home) cannot be examined"))
    }
    if home.st_uid != facts.uid {
      return Finding(
        id, .broken, translated("\(facts.home) belongs to somebody else"),
        fix: .advice(translated("Ask an administrator to make you its owner.")))
    }
    if home.st_mode & 0o022 != 0 {
      return Finding(
        id, .broken, translated("other users can write to \(facts.home), and so can replace your vault"),
        fix: .command("chmod go-w \(facts.home)"))
    }
    guard let vault = root.status(path) else { return .ok(id, translated("there is no vault yet")) }
    if vault.st_uid != facts.uid {
      let place = foreign ?? path
      return Finding(
        id, .broken, translated("\(place) belongs to somebody else, or is a link to somebody else's folder"),
        fix: .command("mv -nT \(place) \(root.freeName(place + ".foreign"))"), remark: VaultExamination.putBack)
    }
    if vault.st_mode & 0o077 != 0 {
      return Finding(
        id, .warning, translated("other users can read \(path)"),
        fix: .command("chmod 700 \(path)"))
    }
    return .ok(id, translated("\(path) is yours alone"))
  }

  /// The first folder below the home, on the way to the vault's folder, that does not belong to the person or is a link. The
  /// folder above it belongs to the person, who can rename the entry.
  private var foreign: String? {
    var place = facts.home
    for name in [".local", "share", "latchkey"] {
      place += "/\(name)"
      guard let status = root.ownStatus(place) else { return nil }
      if status.st_uid != facts.uid || status.st_mode & S_IFMT == S_IFLNK { return place }
    }
    return nil
  }

  /// The way to restore a file that was put aside. It uses no root command, because this would follow links that the programs of
  /// the home's owner can put there.
  static var putBack: String {
    translated(
      "The command deletes nothing. If an administrator put this there for you, ask for a copy that belongs to you.")
  }
}
