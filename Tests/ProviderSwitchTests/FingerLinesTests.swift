import Foundation
import Glibc
import Testing

@testable import LatchkeyDoctor
@testable import LatchkeyProviderSwitch

/// The line that lets a finger at the lock screen open the vault is put into the lockers' files and removed again.
@Suite struct FingerLinesTests {
  private static let gdm = "/etc/pam.d/gdm-fingerprint"
  private static let text = """
    #%PAM-1.0
    auth\trequisite\tpam_nologin.so
    auth\trequired\tpam_succeed_if.so user != root quiet_success
    auth\trequired\tpam_fprintd.so
    auth\toptional\tpam_gnome_keyring.so
    @include common-account

    """

  private func system(_ change: (FakeHome) throws -> Void = { _ in }) throws -> FakeHome {
    let home = try FakeHome()
    try home.put(Self.gdm, Self.text)
    try home.put("/etc/pam.d/common-account", "account required pam_permit.so\n")
    try home.put("/etc/latchkey/services", "gdm-autologin\n")
    try change(home)
    home.person = ProviderSwitch.Person(uid: getuid(), scope: .lockers)
    return home
  }

  @discardableResult
  private func run(_ side: FileChange.Side, _ home: FakeHome) throws -> SwitchPlan {
    let plan = try home.providers.plan(side)
    #expect(plan.obstacles == [])
    #expect(try home.providers.perform(plan) == [])
    return plan
  }

  private func lines(_ home: FakeHome, _ path: String = gdm) -> [String] {
    home.text(ofAll: path)?.split(separator: "\n").map(String.init) ?? []
  }

  @Test func theLineStandsInFrontOfTheReadersAndGoesAgain() throws {
    let home = try system { try $0.installAll() }
    let before = try home.everything(below: "/")
    let done = try run(.toLatchkey, home)
    #expect(done.changes.map(\.path) == [Self.gdm])
    let words = try #require(done.changes.first).words(home: nil)
    #expect(
      words.hasPrefix("add 'auth [success=done maxtries=die default=ignore] pam_latchkey.so finger' to \(Self.gdm):"))
    let after = lines(home)
    let place = try #require(after.firstIndex(of: FingerLine.text))
    #expect(after[place + 1].hasSuffix("pam_fprintd.so"))
    #expect(after.filter { $0 != FingerLine.text } == lines(try system()))
    #expect(FingerLine.all(in: SystemRoot(home.path)).map(\.place) == [.there])
    #expect(try run(.toLatchkey, home).changesNothing)
    try run(.back, home)
    #expect(try home.everything(below: "/") == before)
    #expect(try run(.back, home).changesNothing)
  }

  @Test(arguments: ["kde-fingerprint", "swaylock", "i3lock", "xscreensaver"])
  func theFileOfALockerThatRunsAsThePersonStays(_ service: String) throws {
    let home = try system { try $0.put("/usr/lib/pam.d/\(service)", "auth required pam_fprintd.so\n") }
    let plan = try run(.toLatchkey, home)
    #expect(plan.changes.map(\.path) == [Self.gdm])
    #expect(plan.notes.count == 1 && plan.notes.first?.contains("\(service) is left as it is") == true)
  }

  @Test func aPackagesFileIsCopied() throws {
    let own = "/usr/lib/pam.d/lightdm"
    let home = try system { try $0.put(own, "auth required pam_fprintd.so\naccount required pam_permit.so") }
    let before = try home.everything(below: "/")
    try run(.toLatchkey, home)
    #expect(
      lines(home, "/etc/pam.d/lightdm")
        == [FingerLine.text, "auth required pam_fprintd.so", "account required pam_permit.so"])
    try run(.back, home)
    #expect(try home.everything(below: "/") == before)
  }

  /// dpkg asks about a changed file. After either answer, no line of Latchkey stays for good.
  @Test func anUpgradeOfTheLockersPackage() throws {
    let newer = Self.text + "# newer\n"
    let home = try system()
    try run(.toLatchkey, home)
    try home.put(Self.gdm, newer)
    #expect(FingerLine.all(in: SystemRoot(home.path)).map(\.place) == [.missing(Self.gdm)])
    try run(.toLatchkey, home)
    #expect(lines(home).contains(FingerLine.text) && lines(home).contains("# newer"))
    try run(.back, home)
    #expect(home.text(ofAll: Self.gdm) == newer)

    try run(.toLatchkey, home)
    try home.put(Self.gdm, newer)
    try run(.back, home)
    #expect(home.text(ofAll: Self.gdm) == newer)

    // Somebody added a line, which must stay.
    try run(.toLatchkey, home)
    try home.put(Self.gdm, try #require(home.text(ofAll: Self.gdm)) + "# mine\n")
    try run(.back, home)
    #expect(home.text(ofAll: Self.gdm) == newer + "# mine\n")
  }

  @Test(arguments: [
    // The finger would skip a second factor behind the reader.
    "auth required pam_fprintd.so\nauth required pam_unix.so\n",
    // With one more line, the jump would end one line too early.
    "auth [success=1 default=ignore] pam_succeed_if.so x\nauth required pam_fprintd.so\nauth optional pam_cap.so\n",
    "auth include common-auth\n", "@include common-auth\n", "auth substack common-auth\n",
    "auth required pam_fprintd.so\nauth optional pam_latchkey.so finger\n",
  ])
  func otherLinesAreLeftToThePerson(_ text: String) throws {
    let home = try system {
      try $0.put(Self.gdm, text)
      try $0.put(
        "/etc/pam.d/common-auth", "auth [success=1 default=ignore] pam_fprintd.so\nauth required pam_unix.so\n")
    }
    let before = try home.everything(below: "/")
    let plan = try run(.toLatchkey, home)
    #expect(plan.notes.count == 1 && plan.notes.first?.contains("gdm-fingerprint is left as it is") == true)
    #expect(try home.everything(below: "/") == before)
  }

  @Test(arguments: [
    "auth sufficient pam_fprintd.so\nauth required pam_unix.so\n",
    "-auth [success=done default=die] /lib/security/pam_fprintd.so\n",
    "auth required pam_fprintd.so max-tries=2 # a finger\nauth [default=ignore] pam_exec.so\n",
  ])
  func theLineIsAddedWhereItSkipsNothing(_ text: String) throws {
    let home = try system { try $0.put(Self.gdm, text) }
    try run(.toLatchkey, home)
    #expect(home.text(ofAll: Self.gdm) == FingerLine.text + "\n" + text)
  }

  @Test func servicesThatAreNoLockersStayAsTheyAre() throws {
    let home = try system {
      for name in ["sudo", "login", "gdm-password", "common-auth", "polkit-1"] {
        try $0.put("/etc/pam.d/\(name)", "auth sufficient pam_fprintd.so\n")
      }
    }
    #expect(try run(.toLatchkey, home).changes.map(\.path) == [Self.gdm])
  }

  @Test func nothingIsWrittenThroughALink() throws {
    let home = try system {
      try $0.put("/etc/authselect/fingerprint", Self.text)
      try FileManager.default.removeItem(atPath: $0.path + Self.gdm)
      try $0.link(Self.gdm, to: "../authselect/fingerprint")
    }
    let plan = try home.providers.plan(.toLatchkey)
    #expect(plan.changes == [] && plan.obstacles.first?.contains("is a link to") == true)
  }
}
