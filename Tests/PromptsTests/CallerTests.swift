import CLatchkeyLinux
import Glibc
import LatchkeyPosix
import LatchkeyScratch
import Testing

@testable import LatchkeyPrompts

/// A folder in place of `/proc`, with one process, number 7.
private struct FakeProcess {
  let scratch: ScratchFolder

  init(_ name: String = "worker") throws {
    scratch = try ScratchFolder()
    for folder in ["7", "7/root", "7/attr", "7/attr/apparmor"] { mkdir(scratch.file(folder), 0o700) }
    try scratch.put("7/stat", Array("7 (\(name)) S 1 1 1 0 -1 0".utf8))
    link("exe", to: "/usr/bin/worker")
  }

  func link(_ name: String, to target: String) {
    unlink(scratch.file("7/" + name))
    symlink(target, scratch.file("7/" + name))
  }

  func group(_ path: String) throws { try scratch.put("7/cgroup", Array("0::\(path)\n".utf8)) }

  /// Puts the process into a unit of the user.
  func unit(_ name: String) throws {
    try group("/user.slice/user-1000.slice/user@1000.service/app.slice/\(name)")
  }

  func sandbox(_ content: String) throws { try scratch.put("7/root/.flatpak-info", Array(content.utf8)) }

  var name: String { Caller(pid: 7, proc: scratch.path).name }
}

@Suite("A caller") struct CallerTests {
  @Test("A caller is a Flatpak if Flatpak's own file says so, whatever its name")
  func flatpak() throws {
    let process = try FakeProcess("firefox")
    try process.unit("app-org.gnome.Terminal-1.scope")
    try process.sandbox("[Application]\nname=org.example.Mail\nruntime=runtime/x\n\n[Instance]\nname=other\n")
    #expect(process.name == "org.example.Mail")
    let others = ["", "[Instance]\nname=org.example.Mail\n", "[Application]\nname=\n", "name=x\n[Application]\n", "\0"]
    for content in others {
      try process.sandbox(content)
      #expect(process.name == "worker (org.gnome.Terminal)")
    }
  }

  @Test("A terminal may be at another machine, and a caller without a terminal is not asked about it")
  func away() throws {
    let process = try FakeProcess()
    var (main, side): (Int32, Int32) = (-1, -1)
    try #require(openpty(&main, &side, nil, nil, nil) == 0)
    defer { for end in [main, side] { close(end) } }
    var file = stat()
    try #require(fstat(side, &file) == 0)
    for (number, isThere) in [(file.st_rdev, true), (0, false)] {
      try process.scratch.put("7/stat", Array("7 (w) S 1 1 1 \(number) -1 0".utf8))
      let caller = Caller(pid: 7, proc: process.scratch.path) { $0 == 7 }
      #expect(caller.isAway == isThere && caller.terminal.isEmpty == !isThere)
    }
    #expect(!Caller(pid: 7, proc: process.scratch.path).isAway)
  }

  @Test("A caller is a Flatpak only by a small file in its own root folder", .timeLimit(.minutes(20)))
  func notFlatpak() throws {
    let process = try FakeProcess()
    let info = "[Application]\nname=org.example.Mail\n"
    try process.scratch.put("elsewhere", Array(info.utf8))
    let file = process.scratch.file("7/root/.flatpak-info")
    symlink("../../elsewhere", file)
    #expect(process.name == "worker")
    unlink(file)
    symlink(process.scratch.file("elsewhere"), file)
    #expect(process.name == "worker")
    unlink(file)
    mkfifo(file, 0o600)
    #expect(process.name == "worker", "and nobody waits for it")
    unlink(file)
    mkdir(file, 0o700)
    #expect(process.name == "worker")
    rmdir(file)
    try process.sandbox(info + String(repeating: "x", count: FlatpakInfo.sizeLimit))
    #expect(process.name == "worker")
    try process.sandbox(info)
    #expect(process.name == "org.example.Mail")
  }

  @Test(
    "A caller is a Snap by its control group or its label",
    arguments: [
      ("/user.slice/user-1000.slice/user@1000.service/app.slice/snap.firefox.firefox-6f1c.scope", "", "firefox"),
      ("/user.slice/user-1000.slice/user@1000.service/app.slice/snap.firefox.firefox.6f1c.scope", "", "firefox"),
      ("/system.slice/snap.my\\x2dmail.daemon.service", "", "my-mail"),
      ("/", "snap.firefox.geckodriver (enforce)\n", "firefox"),
      ("/", "snap..x (enforce)", "worker"), ("/", "snap.x", "worker"), ("/", "unconfined\n", "worker"),
      ("/user.slice/snap.fire.fox/x", "", "worker"),
    ])
  func snap(_ group: String, _ label: String, _ name: String) throws {
    let process = try FakeProcess()
    try process.group(group)
    try process.scratch.put("7/attr/apparmor/current", Array(label.utf8))
    #expect(process.name == name)
  }

  @Test(
    "A caller is named by its unit and its executable",
    arguments: [
      ("app-org.mozilla.firefox-1234.scope", "/usr/lib/firefox/firefox", "org.mozilla.firefox"),
      ("app-gnome-org.gnome.Terminal-1234.scope", "/usr/bin/secret-tool", "secret-tool (org.gnome.Terminal)"),
      ("app-flatpak-org.example.Mail-1234.scope", "/usr/bin/xdg-dbus-proxy", "xdg-dbus-proxy (org.example.Mail)"),
      ("app-my\\x2dmail-1.scope", "/usr/bin/my-mail", "my-mail"),
      ("app-gnome-org.example.Mail@autostart.service", "/usr/bin/Mail", "org.example.Mail"),
      ("app-org.example.Mail.service", "/usr/bin/mail", "org.example.Mail"),
      ("dbus-:1.2-org.example.Mail@0.service", "/usr/bin/maild", "maild (org.example.Mail)"),
      ("backup.service", "/usr/bin/restic", "restic (backup.service)"),
      ("backup.service", "/usr/bin/backup", "backup.service"),
      ("backup.service/init.scope/more", "/usr/bin/x", "x"),
      ("backup.service/of its own", "/usr/bin/backup", "backup.service"),
      ("sync@home.service", "/usr/bin/rsync", "rsync (sync@home.service)"),
      ("run-u12.service", "/usr/bin/x", "x"), ("run-r0a.scope", "/usr/bin/x", "x"),
      ("vte-spawn-0a.scope", "/usr/bin/x", "x"), ("app-.scope", "/usr/bin/x", "x"), ("app-x.scope", "/usr/bin/y", "y"),
      ("", "/usr/bin/x", "x"),
    ])
  func unit(_ unit: String, _ executable: String, _ name: String) throws {
    let process = try FakeProcess()
    try process.unit(unit)
    process.link("exe", to: executable)
    #expect(process.name == name)
  }

  @Test(
    "A caller outside a unit of the user is named by its executable alone",
    arguments: [
      "/", "/user.slice/user-1000.slice/session-3.scope", "/system.slice/cron.service",
      "/user@1000.service.d/x.service",
    ])
  func elsewhere(_ group: String) throws {
    let process = try FakeProcess()
    try process.group(group)
    #expect(process.name == "worker")
  }

  @Test(
    "A caller is known with its process if its program is an interpreter",
    arguments: [
      ("/usr/bin/python3.11", true), ("/usr/bin/node", true), ("/usr/bin/perl", true), ("/usr/bin/ruby3.1", true),
      ("/usr/lib/jvm/java-17/bin/java", true), ("/usr/bin/dash", true), ("/usr/bin/bash (deleted)", true),
      ("/usr/bin/secret-tool", false), ("/usr/bin/pythonista", false), ("", false),
    ])
  func interpreter(_ executable: String, _ isOne: Bool) throws {
    let process = try FakeProcess()
    try process.scratch.put("7/stat", Array("7 (w) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0".utf8))
    process.link("exe", to: executable)
    let found = Caller(pid: 7, proc: process.scratch.path).interpreter
    #expect((found != nil) == isOne)
    if let found { #expect(found.pid == 7 && found.started == 4711) }
    // A sandboxed application is named by its own name, and not by its script.
    try process.sandbox("[Application]\nname=org.example.Mail\n")
    #expect(Caller(pid: 7, proc: process.scratch.path).interpreter == nil)
  }

  @Test("A caller has two kinds of control groups")
  func hierarchies() throws {
    let path = "/user.slice/user-0.slice/user@0.service/backup.service"
    #expect(UnitName.application(inControlGroups: "12:pids:/x.service\n1:name=systemd:\(path)\n") == "backup.service")
    // The entries show which of the two kinds is in use.
    #expect(UnitName.application(inControlGroups: "9:name=systemd:/\n8:pids:/\n0::\(path)\n") == "backup.service")
    #expect(UnitName.application(inControlGroups: "9:name=systemd:\(path)\n0::/\n") == "backup.service")
    #expect(UnitName.snap(inControlGroups: "9:name=systemd:/\n0::/snap.mail.mail.service\n") == "mail")
    #expect(UnitName.application(inControlGroups: "12:pids:\(path)\nno line of ours\n0:") == nil)
  }

  @Test(
    "systemd's escapes",
    arguments: [
      ("a\\x2db", "a-b"), ("\\x2", "\\x2"), ("\\xzz", "\\xzz"), ("\\", "\\"), ("\\x5cx2d", "\\x2d"),
      ("\\xff", "\u{FFFD}"),
      ("\\x+1", "\\x+1"),
    ])
  func escapes(_ escaped: String, _ name: String) { #expect(UnitName.unescaped(escaped[...]) == name) }

  @Test("A caller whose executable is deleted or unknown is named by the remaining facts")
  func executable() throws {
    let process = try FakeProcess("calls itself\nthis) (S 1 1 1 1025")
    process.link("exe", to: "/home/me/my tool (deleted)")
    #expect(process.name == "my tool")
    process.link("exe", to: " (deleted)")
    #expect(process.name == "calls itself\nthis) (S 1 1 1 1025")
    unlink(process.scratch.file("7/exe"))
    #expect(process.name == "calls itself\nthis) (S 1 1 1 1025")
    try process.scratch.put("7/stat", Array("7 x S".utf8))
    #expect(process.name == "")
    #expect(Caller(pid: 8, proc: process.scratch.path) == .unknown)
  }

  @Test("A caller is this program, whatever its own name")
  func real() throws {
    var path = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &path, path.count)
    let own = String(decoding: path.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    #expect(Caller(pid: getpid()).name.hasPrefix(try #require(own.split(separator: "/").last)))
    #expect(Caller(pid: Int32.max) == .unknown)
  }

  @Test("A caller that has ended is not mistaken for the process that has its number now")
  func recycled() throws {
    var child: pid_t = 0
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
    defer { free(arguments[0]) }
    #expect(posix_spawn(&child, "/bin/true", nil, nil, &arguments, environ) == 0)
    let gone = linux_pidfd_open(child)
    defer { close(gone) }
    waitpid(child, nil, 0)
    let own = linux_pidfd_open(getpid())
    defer { close(own) }
    // The descriptor stands for an ended process, and the number for the present process.
    #expect(Caller(pid: getpid(), pidfd: gone) == .unknown)
    #expect(Caller(pid: getpid(), pidfd: own) == Caller(pid: getpid()))
  }
}
