import Testing

@testable import LatchkeyDoctor

/// Walks through a stack as libpam does.
@Suite struct TrialTests {
  /// The modules that are called if `asker` accepts, without `pam_` and `.so` in their names.
  private func called(_ files: [String: String], accepting asker: String?) throws -> [String] {
    let system = try FakeSystem(Dictionary(uniqueKeysWithValues: files.map { ("/etc/pam.d/\($0)", $1) }))
    let stack = try PAMStack("x", .auth, in: system.root)
    let index = asker.flatMap { name in stack.entries.firstIndex { $0.module == "pam_\(name).so" } }
    let trial = PAMTrial(stack, accepting: index.map { .entry($0) } ?? .none)
    return trial.called.map { String(stack.entries[$0].module.dropFirst(4).dropLast(3)) }
  }

  @Test func wordsAndJumps() throws {
    let debian = [
      "x":
        "auth [success=2 default=ignore] pam_unix.so\nauth [success=1 default=ignore] pam_sss.so\nauth requisite pam_deny.so\nauth required pam_permit.so\nauth optional pam_cap.so\n"
    ]
    #expect(try called(debian, accepting: "unix") == ["unix", "permit", "cap"])
    #expect(try called(debian, accepting: "sss") == ["unix", "sss", "permit", "cap"])
    #expect(try called(debian, accepting: nil) == ["unix", "sss", "deny"])
  }

  @Test func includeLetsItEndAll() throws {
    let inner = "auth sufficient pam_unix.so\nauth required pam_deny.so\n"
    #expect(try called(["x": "auth include y\nauth optional pam_cap.so\n", "y": inner], accepting: "unix") == ["unix"])
    #expect(
      try called(["x": "auth substack y\nauth optional pam_cap.so\n", "y": inner], accepting: "unix") == [
        "unix", "cap",
      ])
    #expect(try called(["x": "@include y\nauth optional pam_cap.so\n", "y": inner], accepting: "unix") == ["unix"])
  }

  @Test func aStackWithinIsOneLineForJumps() throws {
    let files = [
      "x": "auth [default=1] pam_permit.so\nauth substack y\nauth optional pam_cap.so\n",
      "y": "auth required pam_unix.so\nauth required pam_env.so\n",
    ]
    #expect(try called(files, accepting: "unix") == ["permit", "cap"])
    // A jump cannot leave a substack: libpam then refuses everybody.
    let system = try FakeSystem([
      "/etc/pam.d/x": "auth substack y\nauth optional pam_cap.so\nauth required pam_permit.so\n",
      "/etc/pam.d/y": "auth [success=2 default=ignore] pam_unix.so\nauth required pam_deny.so\n",
    ])
    #expect(!PAMTrial(try PAMStack("x", .auth, in: system.root), accepting: .entry(1)).isSuccess)
    try system.put("/etc/pam.d/y", "auth [success=1 default=ignore] pam_unix.so\nauth required pam_deny.so\n")
    #expect(PAMTrial(try PAMStack("x", .auth, in: system.root), accepting: .entry(1)).isSuccess)
  }

  @Test func otherWaysInAreNotTaken() throws {
    let text =
      "auth sufficient pam_fprintd.so\nauth sufficient pam_u2f.so cue\nauth required pam_env.so\nauth requisite pam_unix.so\nauth optional pam_cap.so\n"
    #expect(try called(["x": text], accepting: "unix") == ["fprintd", "u2f", "env", "unix", "cap"])
    #expect(try called(["x": text], accepting: nil) == ["fprintd", "u2f", "env", "unix"])
  }

  @Test func howLinesAreWritten() throws {
    let text =
      "# auth required pam_no.so\n  -AUTH  Required \\\n  /lib/security/pam_env.so a [b c] # d\n\nauth\t[success=ok  default=ignore]\tpam_unix.so\nsession required pam_other.so\n"
    let system = try FakeSystem(["/usr/lib/pam.d/x": text])
    let stack = try PAMStack("x", .auth, in: system.root)
    #expect(stack.entries.map(\.module) == ["pam_env.so", "pam_unix.so"])
    #expect(stack.entries.first?.options == ["a", "[b c]"])
    #expect(
      PAMControl("[success=0 default=ignore]") == nil && PAMControl("[success]") == nil && PAMControl("maybe") == nil)
  }
}
