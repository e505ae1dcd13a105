import LatchkeyGettext

/// Checks the limit of locked memory, which is never written to the disk.
struct MemoryExamination {
  let root: SystemRoot
  let facts: DesktopFacts

  /// systemd's own limit since version 243. A lower limit has no room for large secrets beside the keys.
  private static let enough: UInt64 = 8 << 20

  func findings() -> [Finding] {
    let processes = RunningProcess.all(of: facts.uid, in: root)
    let manager = processes.first { $0.name == "systemd" && $0.arguments.contains("--user") }
    let daemon = processes.first { $0.name == "latchkeyd" }
    return [
      limit("memory.manager", translated("the user manager"), manager), limit("memory.daemon", "latchkeyd", daemon),
      locked(),
      freed(),
    ]
  }

  private var fix: Finding.Fix {
    .command(
      """
      sudo mkdir -p /etc/systemd/system/user@.service.d && printf '%s\\n' '[Service]' LimitMEMLOCK=64M | \
      sudo tee /etc/systemd/system/user@.service.d/latchkey.conf >/dev/null && sudo systemctl daemon-reload \
      && echo 'Now log out and in again.'
      """)
  }

  private func limit(_ id: String, _ title: String, _ process: RunningProcess?) -> Finding {
    guard let process else { return .unknown(id, translated("\(title) is not running")) }
    guard let limit = process.lockLimit(in: root) else {
      return .unknown(id, translated("the limits of \(title) cannot be read"))
    }
    let amount = limit == .max ? translated("any amount") : "\(limit >> 10) KiB"
    if limit >= MemoryExamination.enough { return .ok(id, translated("\(title) may lock \(amount) of memory")) }
    return Finding(
      id, .warning, translated("\(title) may lock only \(amount) of memory, so larger secrets could be swapped out"),
      fix: fix)
  }

  private func locked() -> Finding {
    let id = "memory.locked"
    switch facts.vault {
    case .unknown(let why): return .unknown(id, why)
    case .known(let vault):
      if vault.isMemoryLocked { return .ok(id, translated("memory that holds secrets is locked")) }
      return Finding(
        id, .broken, translated("memory that holds secrets is not locked, so it could be swapped out"), fix: fix)
    }
  }

  // MARK: - freed pages

  private static let option = "init_on_free"

  /// Latchkey erases its own memory. But other programs that handle a password leave copies of it, which only the kernel can clear.
  /// Few systems erase freed memory, because this costs some speed. So this is not a warning, and the finding names the option.
  private func freed() -> Finding {
    let id = "memory.freed"
    if clearsFreedPages { return .ok(id, translated("the kernel clears freed memory")) }
    return .ok(
      id,
      translated(
        """
        the kernel does not clear freed memory, as is usual, so a password that was typed into another program can \
        stay there; the boot option \(MemoryExamination.option)=1 clears it
        """)
    )
  }

  /// The setting on the kernel's command line, or else the one of its build. A kernel without a configuration in /boot counts as
  /// usual.
  private var clearsFreedPages: Bool {
    let prefix = "\(MemoryExamination.option)="
    let words = root.lines("/proc/cmdline").flatMap { $0.split(separator: " ") }
    if let last = words.last(where: { $0.hasPrefix(prefix) }) {
      // The first letters of the words that the kernel accepts as yes.
      let value = last.dropFirst(prefix.count).lowercased()
      return ["1", "y", "t", "on"].contains { value.hasPrefix($0) }
    }
    guard let release = root.lines("/proc/sys/kernel/osrelease").first,
      case .text(let configuration) = root.content("/boot/config-\(release)", limit: 1 << 20)
    else { return false }
    return configuration.split(separator: "\n").contains("CONFIG_INIT_ON_FREE_DEFAULT_ON=y")
  }
}
