import Foundation
import Testing

@testable import LatchkeyDoctor

/// Lockers and prompters.
extension SessionTests {
  private func locker(_ change: (FakeSystem, Int) throws -> Void) throws -> Finding {
    try after("locker") {
      try $0.put("/run/systemd/sessions/3", "UID=\(getuid())\nTYPE=wayland\nCLASS=user\n")
      try change($0, Int(getuid()))
    }
  }

  @Test func lockers() throws {
    #expect(try locker { _, _ in }.condition == .warning)
    #expect(try locker { system, uid in try system.process(60, "xss-lock", uid: uid) }.condition == .ok)
    #expect(try locker { system, uid in try system.process(60, "gnome-shell", uid: uid) }.condition == .ok)
    var found = try locker { system, uid in try system.process(60, "swaylock", parent: 59, uid: uid) }
    #expect(
      found.condition == .warning
        && found.fix == .advice("Replace 'swaylock' there with: latchkey lock; swaylock"))
    found = try locker { system, uid in
      try system.process(58, "xss-lock", uid: uid)
      try system.process(59, "sh", parent: 58, uid: uid)
      try system.process(60, "i3lock", parent: 59, uid: uid)
    }
    #expect(found.condition == .ok)
    found = try locker { system, uid in
      try system.process(58, "xss-lock", uid: uid)
      try system.put(
        "\(Self.home)/.config/i3/config",
        "# bindsym $mod+l exec i3lock\nbindsym $mod+l exec --no-startup-id i3lock -n\n")
    }
    #expect(found.condition == .warning && found.found.contains(".config/i3/config"))
    found = try locker { system, uid in
      try system.process(58, "swayidle", uid: uid)
      try system.put(
        "\(Self.home)/.config/sway/config",
        "bindsym $mod+l exec \"latchkey lock; swaylock\"\nexec swayidle lock swaylock\n")
    }
    #expect(found.condition == .ok)
    #expect(
      try after("locker") { try $0.put("/run/systemd/sessions/3", "UID=\(getuid())\nTYPE=tty\nCLASS=user\n") }.condition
        == .ok)
    #expect(
      try after("locker") { try $0.put("/run/systemd/sessions/3", "UID=\(getuid() &+ 1)\nTYPE=x11\nCLASS=user\n") }
        .condition == .ok)
    #expect(
      try told("locker", { $0.ownedNames = ["org.mate.ScreenSaver"] }) {
        try $0.put("/run/systemd/sessions/3", "UID=\(getuid())\nTYPE=x11\nCLASS=user\n")
      }.condition == .ok)
    let deaf = try told("lock-news", { $0.vault = .known(Self.vault(news: ["screen savers on the bus"])) })
    #expect(deaf.condition == .broken && deaf.fix != nil)
    #expect(try told("lock-news", { $0.vault = .unknown("why") }) == .unknown("lock-news", "why"))
  }

  @Test func prompts() throws {
    let display: (inout DesktopFacts) -> Void = { $0.hasDisplay = true }
    let found = try told("prompts", display)
    #expect(found.condition == .warning && found.fix == .command("sudo apt-get install gcr"))
    #expect(
      try told(
        "prompts",
        {
          display(&$0); $0.busNames = .known(["org.gnome.keyring.SystemPrompter"])
        }
      ).condition == .ok)
    #expect(try told("prompts", display) { try $0.put("/usr/bin/pinentry", "") }.condition == .ok)
    #expect(
      try told(
        "prompts",
        {
          display(&$0); $0.busNames = .unknown("why")
        }
      ).condition == .unknown)
    let onTerminal = try told("prompts", { $0.terminal = .usable("/dev/ttyS0") })
    #expect(onTerminal.condition == .ok && onTerminal.found.contains("/dev/ttyS0"))
    let foreign = try told("prompts", { $0.terminal = .unusable("/dev/pts/3") })
    #expect(foreign.condition == .warning && foreign.found.contains("/dev/pts/3") && foreign.fix != nil)
    let nowhere = try told("prompts", { $0.terminal = .none })
    #expect(nowhere.condition == .ok && nowhere.found.contains("no terminal here"))
    let service = "/usr/share/dbus-1/system-services/net.reactivated.Fprint.service"
    #expect(
      try after("fingers") { try $0.put(service, "") }.fix == .command("sudo apt-get install fprintd libpam-fprintd"))
    #expect(
      try after("fingers") {
        try $0.put(service, "")
        try $0.put("/usr/lib/x86_64-linux-gnu/security/pam_fprintd.so", "")
      }.condition == .ok)
  }
}
