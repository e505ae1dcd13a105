import LatchkeyGettext

/// Looks at the session's ssh agent, if Latchkey's is installed.
struct AgentExamination {
  let root: SystemRoot
  let facts: DesktopFacts

  func findings() -> [Finding] {
    let id = "ssh-agent"
    guard UnitFiles(root: root, home: facts.home).path("latchkey-ssh-agent.socket") != nil else { return [] }
    switch facts.agentSocket {
    case "\(facts.runtime)/latchkey/ssh": return [.ok(id, translated("ssh and git use Latchkey's agent"))]
    case "\(facts.runtime)/keyring/ssh", "\(facts.runtime)/gcr/ssh", "\(facts.runtime)/keyring/.ssh":
      let place = facts.agentSocket
      return [
        Finding(
          id, .warning, translated("ssh and git use another agent (\(place)), which signs while the vault is locked"),
          fix: .command("latchkey switch --to latchkey --ssh-agent"))
      ]
    default: return []
    }
  }
}
