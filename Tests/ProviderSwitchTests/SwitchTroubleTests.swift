import Glibc
import LatchkeyPosix
import Testing

@testable import LatchkeyDoctor
@testable import LatchkeyProviderSwitch

/// Events during a switch: other programs, another run, large files.
@Suite struct SwitchTroubleTests {
  private static let settings = ".config/kwalletrc"

  private func system() throws -> FakeHome {
    let home = try FakeHome()
    try home.installAll()
    return home
  }

  @Test(arguments: [FileChange.Side.toLatchkey, .back])
  func aFileThatChangedMeanwhileIsNotOverwritten(_ side: FileChange.Side) throws {
    let home = try system()
    if side == .back { _ = try home.providers.perform(try home.providers.plan(.toLatchkey)) }
    let path = side == .toLatchkey ? Self.settings : ".config/systemd/user/latchkeyd.service"
    let plan = try home.providers.plan(side)
    try home.own(path, "[Wallet]\nSavedBy=another\n", mode: 0o600)
    #expect(throws: SwitchError.changedMeanwhile("\(FakeHome.home)/\(path)")) { try home.providers.perform(plan) }
    #expect(home.text(path) == "[Wallet]\nSavedBy=another\n")
    guard side == .toLatchkey else { return }
    // The next run changes the present file, and going back restores the present file.
    _ = try home.providers.perform(try home.providers.plan(.toLatchkey))
    #expect(home.text(path)?.contains("apiEnabled=false") == true)
    #expect(try home.providers.perform(try home.providers.plan(.back)) == [])
    #expect(home.text(path) == "[Wallet]\nSavedBy=another\n")
  }

  @Test func twoRunsAreKeptApart() throws {
    let home = try system()
    let before = try home.everything()
    try home.providers.alone { () throws(SwitchError) in
      #expect(throws: SwitchError.busy) {
        try home.providers.alone { () throws(SwitchError) in Issue.record("a second run") }
      }
    }
    var ran = false
    try home.providers.alone { () throws(SwitchError) in ran = true }
    #expect(ran)
    // The lock leaves no file.
    #expect(try home.everything() == before)
  }

  @Test func aHomeOfSomebodyElseIsNotLocked() throws {
    let home = try system()
    home.person = ProviderSwitch.Person(uid: getuid() + 1, scope: .person(home: FakeHome.home))
    #expect(throws: SwitchError.file(FakeHome.home, PosixError("lock", code: EPERM))) {
      try home.providers.alone { () throws(SwitchError) in }
    }
  }

  @Test func aRecordLargerThanASettingsFile() throws {
    let home = try system()
    let much = String(repeating: "# a line of somebody's\n", count: 40_000)
    try home.own(Self.settings, "[Wallet]\n" + much, mode: 0o600)
    try home.own(".config/keepassxc/keepassxc.ini", "[FdoSecrets]\nEnabled=true\n" + much)
    let before = try home.everything()
    _ = try home.providers.perform(try home.providers.plan(.toLatchkey))
    #expect(try #require(home.text(".local/state/latchkey/switch.json")).utf8.count > 1 << 20)
    #expect(try home.providers.plan(.toLatchkey).changesNothing)
    #expect(try home.providers.perform(try home.providers.plan(.back)) == [])
    let after = try home.everything()
    for (name, state) in before { #expect(after[name] == state) }
  }

  @Test(arguments: [true, false])
  func aRecordThatIsALinkIsNotReplaced(_ leadsSomewhere: Bool) throws {
    let home = try system()
    _ = try home.providers.perform(try home.providers.plan(.toLatchkey))
    let record = ".local/state/latchkey/switch.json"
    if leadsSomewhere { try home.own("record.json", try #require(home.text(record)), mode: 0o600) }
    try home.remove(record)
    try home.link("\(FakeHome.home)/\(record)", to: "\(home.path)\(FakeHome.home)/record.json")
    let before = try home.everything()
    for side in [FileChange.Side.toLatchkey, .back] {
      #expect(throws: SwitchError.unreadableRecord("\(FakeHome.home)/\(record)")) { try home.providers.plan(side) }
    }
    #expect(try home.everything() == before)
  }

  @Test func anAgentWithoutAnAnswerIsNotEmpty() throws {
    let home = try system()
    let root = SystemRoot(home.path)
    let agent = SSHAgent(runtime: home.path)
    #expect(agent.content == .absent && agent.whyItStays(root: root, home: FakeHome.home) == nil)
    try home.put("/keyring/ssh", "")
    // A plain file is no agent's socket.
    #expect(agent.content == .absent)
  }
}
