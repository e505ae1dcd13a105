import Glibc
import LatchkeyScratch
import Testing

@testable import LatchkeyPosix

@Suite("A controlling terminal") struct ControllingTerminalTests {
  private let scratch: ScratchFolder

  init() throws { scratch = try ScratchFolder() }

  private func link(_ number: String, to target: String) {
    unlink(scratch.file(number))
    symlink(target, scratch.file(number))
  }

  private func device(_ major: UInt32, _ minor: UInt32) -> UInt32 {
    major << 8 | (minor & 0xFF) | (minor & 0xFFF00) << 12
  }

  @Test(
    "A controlling terminal has the kernel's name for its number, whatever its kind",
    arguments: [
      (4, 64, "ttyS0"), (4, 1, "tty1"), (204, 64, "ttyAMA0"), (229, 0, "hvc0"), (188, 300, "ttyUSB300"),
      (240, 1, "odd!name"),
    ] as [(UInt32, UInt32, String)])
  func name(_ major: UInt32, _ minor: UInt32, _ name: String) {
    link("\(major):\(minor)", to: "../../devices/platform/x/tty/\(name)")
    let found = ControllingTerminal.name(ofDevice: device(major, minor), devices: scratch.path)
    #expect(found == String(name.map { $0 == "!" ? "/" : $0 }))
  }

  @Test("A controlling terminal needs no /sys if its number is enough")
  func numbers() {
    let names = [device(136, 3), device(143, 1), device(4, 2), device(4, 64), device(5, 0)]
      .map { ControllingTerminal.name(ofDevice: $0, devices: scratch.path) }
    #expect(names == ["pts/3", "pts/7340033", "tty2", nil, nil])
  }

  @Test("A controlling terminal is the device with that number and belongs to its owner")
  func path() throws {
    var file = stat()
    #expect(lstat("/dev/null", &file) == 0)
    let own = file.st_uid
    link("1:3", to: "../../devices/virtual/mem/null")
    link("1:5", to: "../../devices/virtual/mem/null")
    link("1:7", to: "../../devices/virtual/mem/missing")
    link("1:8", to: "..")
    func path(_ minor: UInt32, _ owner: uid_t) -> String? {
      ControllingTerminal.path(ofDevice: device(1, minor), owner: owner, devices: scratch.path)
    }
    #expect(path(3, own) == "/dev/null")
    #expect(path(3, own + 1) == nil)
    #expect(path(5, own) == nil, "another device has its name")
    #expect(path(7, own) == nil && path(8, own) == nil)
    #expect(ControllingTerminal.path(ofDevice: 0) == nil)
  }

  private func canAsk(_ path: String) -> Bool { ControllingTerminal.openForQuestions(path) != nil }

  @Test("A controlling terminal reports whether it is in line mode")
  func questions() throws {
    var (main, side): (Int32, Int32) = (-1, -1)
    #expect(openpty(&main, &side, nil, nil, nil) == 0)
    defer {
      close(main)
      close(side)
    }
    let path = String(cString: try #require(ttyname(side)))
    fchown(side, getuid(), gid_t.max)
    var status = stat()
    fstat(side, &status)
    #expect(ControllingTerminal.path(ofDevice: UInt32(status.st_rdev)) == path)
    #expect(canAsk(path))
    var settings = termios()
    tcgetattr(side, &settings)
    settings.c_lflag &= ~tcflag_t(ICANON)
    tcsetattr(side, TCSANOW, &settings)
    #expect(!canAsk(path))
    for other in ["/dev/tty", "/dev/null", "/tmp"] { #expect(!canAsk(other)) }
  }
}
