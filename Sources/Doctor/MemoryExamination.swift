/// Looks at how much memory may be kept from being written to the disk.
struct MemoryExamination {
  let root: SystemRoot
  let facts: SessionFacts

  /// What systemd allows by itself since version 243. Less is too little for secrets of some size beside the keys.
  private static let enough: UInt64 = 8 << 20

  func findings() -> [Finding] {
    let processes = RunningProcess.all(of: facts.uid, in: root)
    let manager = processes.first { $0.name == "systemd" && $0.arguments.contains("--user") }
    let daemon = processes.first { $0.name == "latchkeyd" }
    return [
      limit("memory.manager", "the user manager", manager), limit("memory.daemon", "latchkeyd", daemon), locked(),
    ]
  }

  private var mend: Finding.Mend {
    .command(
      "sudo mkdir -p /etc/systemd/system/user@.service.d && printf '%s\\n' '[Service]' LimitMEMLOCK=64M |"
        + " sudo tee /etc/systemd/system/user@.service.d/latchkey.conf >/dev/null && sudo systemctl daemon-reload"
        + " && echo 'Now log out and in again.'")
  }

  private func limit(_ id: String, _ title: String, _ process: RunningProcess?) -> Finding {
    guard let process else { return .unknown(id, "\(title) does not run") }
    guard let limit = process.lockLimit(in: root) else { return .unknown(id, "the limits of \(title) cannot be read") }
    let amount = limit == .max ? "as much as it likes" : "\(limit >> 10) KiB"
    if limit >= MemoryExamination.enough { return .ok(id, "\(title) may lock \(amount)") }
    return Finding(id, .warning, "\(title) may lock \(amount) only: larger secrets could be swapped out", mend: mend)
  }

  private func locked() -> Finding {
    let id = "memory.locked"
    switch facts.vault {
    case .unknown(let why): return .unknown(id, why)
    case .known(let vault):
      if vault.isMemoryLocked { return .ok(id, "what holds secrets is locked in memory") }
      return Finding(id, .broken, "memory with secrets is not locked, and could be swapped out", mend: mend)
    }
  }
}
