import LatchkeyPosix
import Testing

@testable import LatchkeyDoctor
@testable import LatchkeyProviderSwitch

/// Files by which a desktop starts gnome-keyring. The switch ends only the part for secrets.
@Suite struct AutostartTests {
  private static let name = "gnome-keyring-secrets.desktop"
  private static let program = "/usr/bin/gnome-keyring-daemon"

  private func file(_ command: String) -> String {
    "[Desktop Entry]\nType=Application\nExec=\(command)\nOnlyShowIn=GNOME;\n\n[Other]\nExec=no\n"
  }

  /// Puts a command into the file of all users. Returns the person's own file after the switch, and the obstacles.
  private func afterwards(_ command: String, own: String? = nil) throws -> (text: String?, obstacles: [String]) {
    let home = try FakeHome()
    try home.installGNOMEKeyring()
    try home.put("/etc/xdg/autostart/\(Self.name)", file(command))
    if let own { try home.own(".config/autostart/\(Self.name)", file(own)) }
    let before = try home.everything()
    let plan = try home.providers.plan(.toLatchkey)
    guard plan.obstacles.isEmpty else { return (nil, plan.obstacles) }
    _ = try home.providers.perform(plan)
    let text = home.text(".config/autostart/\(Self.name)")
    #expect(try home.providers.plan(.toLatchkey).changesNothing)
    _ = try home.providers.perform(try home.providers.plan(.back))
    let after = try home.everything()
    for (name, state) in before { #expect(after[name] == state) }
    #expect((home.text(".config/autostart/\(Self.name)") != nil) == (own != nil))
    return (text, [])
  }

  @Test(arguments: [
    ("--start --components=secrets,ssh", "--start --components=ssh"),
    ("--start --components=\"pkcs11,secrets\" --foreground", "--start --components=\"pkcs11\" --foreground"),
    ("--start -c secrets,pkcs11,ssh", "--start -c pkcs11,ssh"), ("--start", "--start --components=pkcs11,ssh"),
  ])
  func theOtherPartsGoOn(_ options: String, _ expected: String) throws {
    let text = file("\(Self.program) \(expected)")
    #expect(try afterwards("\(Self.program) \(options)").text == text)
    #expect(try afterwards("\(Self.program) --components=secrets", own: "\(Self.program) \(options)").text == text)
  }

  @Test func inAShellToo() throws {
    let command = "sh -c \"\(Self.program) --start --components=secrets,ssh; true\""
    #expect(try afterwards(command).text == file(command.replacing("secrets,ssh", with: "ssh")))
  }

  @Test(arguments: ["--components=secrets", "--start --components='secrets'", "-c secrets"])
  func oneWithoutOtherPartsIsHidden(_ options: String) throws {
    let text = try #require(try afterwards("\(Self.program) \(options)").text)
    #expect(text.contains("Hidden=true") && !text.contains("Exec="))
  }

  @Test(arguments: [
    "sh -c \"/usr/bin/gnome-keyring-daemon --start\"", "sh -c \"gnome-keyring-daemon --components=secrets\"",
    "/usr/bin/gnome-keyring-daemon --start && xterm", "env A=b gnome-keyring-daemon --components=secrets",
  ])
  func aCommandWithMoreInItIsAnObstacle(_ command: String) throws {
    let obstacles = try afterwards(command).obstacles
    #expect(obstacles.count == 1 && obstacles.first?.contains("perhaps more") == true)
  }
}
