import Testing

@testable import LatchkeyDoctor

/// Checks whether a finger at the lock screen reaches the vault.
@Suite struct FingerLineTests {
  private static let plain = "auth required pam_fprintd.so\nauth optional pam_gnome_keyring.so\n"
  private static let gdm = "/etc/pam.d/gdm-fingerprint"

  private func findings(_ hasProtector: Bool?, _ files: [String: String]) throws -> [Finding] {
    let system = try FakeSystem(files)
    return withExtendedLifetime(system) { FingerExamination(root: system.root, hasProtector: hasProtector).findings() }
  }

  @Test func aProtectorWithoutTheLine() throws {
    let found = try findings(true, [Self.gdm: Self.plain])
    #expect(found.map(\.id) == ["finger-line"] && found[0].condition == .warning)
    #expect(found[0].command == "sudo latchkey switch --to latchkey --finger")
    // If sudo includes the file as well, doctor gives no command that adds the line.
    let shared = try findings(true, [Self.gdm: "@include common-auth\n", "/etc/pam.d/common-auth": Self.plain])
    #expect(shared[0].condition == .warning && shared[0].advice?.contains("/etc/pam.d/common-auth") == true)
    let behind = try findings(true, [Self.gdm: Self.plain + FingerLine.text])
    #expect(behind[0].condition == .warning && behind[0].command == nil)
    #expect(try findings(true, ["/etc/pam.d/sudo": Self.plain])[0].found.contains("no screen locker asks"))
  }

  /// No line makes a finger open the vault where the locker runs as the person.
  @Test(arguments: ["kde-fingerprint", "swaylock", "i3lock", "mate-screensaver", "xscreensaver", "hyprlock"])
  func aLockerOfThePersonsOwn(_ service: String) throws {
    let path = "/usr/lib/pam.d/\(service)"
    for text in [Self.plain, FingerLine.text + "\n" + Self.plain, "@include common-auth\n"] {
      let files = [path: text, "/etc/pam.d/common-auth": Self.plain]
      let found = try findings(true, files)
      #expect(found.map(\.id) == ["finger-line"] && found[0].condition == .warning && found[0].command == nil)
      #expect(found[0].found.contains("\(service) unlocks the screen only"))
      let beside = try findings(true, files.merging([Self.gdm: FingerLine.text + "\n" + Self.plain]) { $1 })
      #expect(beside.map(\.condition) == [.ok] && !beside[0].found.contains(service))
      #expect(try findings(false, files) == [])
    }
  }

  /// The promise before the protector is added names only places where a finger unlocks the vault.
  @Test(
    arguments: [
      (["kde-fingerprint"], false, true), (["kde-fingerprint", "swaylock"], true, true), ([], true, false),
      ([], false, false),
    ] as [([String], Bool, Bool)])
  func thePromiseNamesTheScreens(_ personsOwn: [String], hasGdm: Bool, saysScreenOnly: Bool) throws {
    let system = try FakeSystem(hasGdm ? [Self.gdm: Self.plain] : [:])
    for service in personsOwn { try system.put("/etc/pam.d/\(service)", Self.plain) }
    // A locker of the person's own that asks for no finger is not named.
    try system.put("/etc/pam.d/i3lock", "auth required pam_unix.so\n")
    let promise = FingerPromise(system.root)
    let isPrompt = !personsOwn.isEmpty && !hasGdm
    #expect(promise.text.contains("at the locked screen") == !isPrompt && promise.text.contains("a weaker promise"))
    #expect(promise.result.contains("at a prompt") == isPrompt)
    #expect(promise.text.contains("unlocks the screen only") == saysScreenOnly && !promise.text.contains("i3lock"))
    for service in personsOwn { #expect(promise.text.contains(service)) }
  }

  @Test func theLineWithoutAProtector() throws {
    let text = FingerLine.text + "\n" + Self.plain
    let found = try findings(false, [Self.gdm: text])
    #expect(found.map(\.condition) == [.ok] && found[0].found.contains("latchkey protector add finger"))
    #expect(try findings(true, [Self.gdm: text]).map(\.condition) == [.ok])
    #expect(try findings(nil, [Self.gdm: text]).map(\.condition) == [.unknown])
    #expect(
      try findings(true, [Self.gdm: "auth sufficient pam_latchkey.so finger\n" + Self.plain]).map(\.condition) == [.ok])
  }

  @Test(arguments: [false, nil]) func whoUsesNoFingerIsToldNothing(_ hasProtector: Bool?) throws {
    #expect(try findings(hasProtector, [Self.gdm: Self.plain]) == [])
    #expect(try findings(hasProtector, [:]) == [])
  }

  @Test func bothOfGdmsServicesClaimTheReader() throws {
    var files = [
      Self.gdm: FingerLine.text + "\n" + Self.plain, "/etc/pam.d/gdm-password": "@include common-auth\n",
      "/etc/pam.d/common-auth": "auth [success=2 default=ignore] pam_fprintd.so\nauth required pam_unix.so\n",
      "/etc/os-release": "ID=debian\n", "/usr/sbin/pam-auth-update": "",
    ]
    var found = try findings(true, files)
    #expect(found.map(\.id) == ["finger-line", "finger-reader"])
    #expect(found[1].condition == .warning && found[1].advice?.contains("/etc/pam.d/common-auth") == true)
    files["/usr/share/pam-configs/fprintd"] = "Name: Fingerprint\n"
    found = try findings(true, files)
    #expect(found[1].command == "sudo pam-auth-update --disable fprintd")
    files["/etc/pam.d/common-auth"] = "auth required pam_unix.so\n"
    #expect(try findings(true, files).map(\.id) == ["finger-line"])
  }

  /// The finger line takes no password, so it neither counts as the module's line nor is in the wrong place.
  @Test func theLineIsNoLineForThePassword() throws {
    let password = "auth required pam_unix.so\nauth optional pam_latchkey.so\n"
    let finger = "auth sufficient pam_latchkey.so finger\n"
    func finding(_ text: String) throws -> Finding? {
      let system = try FakeSystem(["/etc/pam.d/xscreensaver": text])
      return withExtendedLifetime(system) { PAMExamination(root: system.root).findings().first }
    }
    let plain = try finding(password)
    #expect(try finding(finger + password)?.condition == plain?.condition && plain?.condition != .broken)
    #expect(try finding(finger + "auth required pam_unix.so\n")?.condition == .broken)
  }
}
