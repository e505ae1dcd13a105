import LatchkeyPrivateBus
import LatchkeySessionState
import LatchkeySystemd
import Testing

@Suite(.timeLimit(.minutes(20))) struct ScreenSaverWatchTests {
  private final class Scene {
    let daemon: PrivateBus
    let loop: EventLoop
    let bus: Bus
    var reports: [ScreenSaverWatch.Report] = []
    var watch: ScreenSaverWatch?

    init() throws {
      daemon = try PrivateBus()
      loop = try EventLoop()
      bus = try daemon.connect(loop)
    }

    func start() throws {
      let watch = ScreenSaverWatch(bus: bus) { [unowned self] in reports.append($0) }
      try watch.start()
      self.watch = watch
      // The bus has the match rule before it answers a later call.
      _ = try bus.call(loop, "org.freedesktop.DBus", "/", "org.freedesktop.DBus.Peer", "Ping")
    }
  }

  private func say(_ saver: Bus, _ interface: String, _ active: Bool) throws {
    try saver.emitSignal(
      path: "/any/path", interface: interface, member: "ActiveChanged",
      build: { $0.appendBool(active) })
  }

  @Test(arguments: [
    "org.freedesktop.ScreenSaver", "org.gnome.ScreenSaver", "org.mate.ScreenSaver", "org.cinnamon.ScreenSaver",
    "org.kde.screensaver", "org.xfce.ScreenSaver",
  ])
  func everyDesktopsSaverIsHeard(interface: String) throws {
    let scene = try Scene()
    try scene.start()
    let saver = try scene.daemon.connect(scene.loop)
    let name = try saver.name(scene.loop)
    try say(saver, interface, true)
    try say(saver, interface, false)
    try scene.loop.run(until: "both reports") { scene.reports.count == 2 }
    #expect(scene.reports == [.active(peer: name, true), .active(peer: name, false)])
  }

  @Test func otherSignalsOfThatNameAreNot() throws {
    let scene = try Scene()
    try scene.start()
    let saver = try scene.daemon.connect(scene.loop)
    try say(saver, "org.example.Something", true)
    try saver.emitSignal(path: "/", interface: "org.gnome.ScreenSaver", member: "ActiveChanged")
    try scene.loop.run(for: .milliseconds(100))
    #expect(scene.reports == [])
  }

  @Test func aRefusedRuleEndsTheConnection() throws {
    let daemon = try PrivateBus(matchRules: 0)
    let loop = try EventLoop()
    let bus = try daemon.connect(loop)
    var lost = false
    try bus.onDisconnect { lost = true }
    let watch = ScreenSaverWatch(bus: bus) { _ in }
    try watch.start()
    try loop.run(until: "disconnect") { lost }
  }

  @Test func aSaverThatVanishesIsTold() throws {
    let scene = try Scene()
    try scene.start()
    var saver: Bus? = try scene.daemon.connect(scene.loop)
    let name = try #require(try saver?.name(scene.loop))
    try say(try #require(saver), "org.gnome.ScreenSaver", true)
    try scene.loop.run(until: "active") { scene.reports.count == 1 }
    saver = nil
    try scene.loop.run(until: "vanished") { scene.reports.count == 2 }
    #expect(scene.reports.last == .vanished(peer: name))
    _ = saver
  }

  @Test func aSaverThatWasActiveBeforeIsAsked() throws {
    let scene = try Scene()
    let saver = try scene.daemon.connect(scene.loop)
    let name = try saver.name(scene.loop)
    let slot = try saver.export(
      ObjectInterface(
        "org.gnome.ScreenSaver",
        methods: [
          .init("GetActive", output: [.init("b", "active")]) { call in
            call.reply { $0.appendBool(true) }
          }
        ]),
      below: "/org/gnome/ScreenSaver"
    ) { _ in true }
    var owned = false
    try saver.requestNameAsync("org.gnome.ScreenSaver") { _ in owned = true }
    try scene.loop.run(until: "name") { owned }
    try scene.start()
    try scene.loop.run(until: "answer") { !scene.reports.isEmpty }
    #expect(scene.reports == [.found(peer: name)])
    withExtendedLifetime(slot) {}
  }
}
