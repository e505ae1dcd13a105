import LatchkeyPrivateBus
import LatchkeySystemd

/// The part of fprintd that verifies a finger: one reader, on a private bus with a connection of its own.
final class FakeReader {
  let bus: Bus
  private let loop: EventLoop
  private var slots: [BusSlot] = []
  private static let path = "/net/reactivated/Fprint/Device/0"
  private static let device = "net.reactivated.Fprint.Device"
  /// The number of each user's fingers.
  var fingers = ["anna": 2]
  var isBusy = false
  /// The called methods, in order.
  private(set) var calls: [String] = []
  /// Whether fprintd does not answer `Release`.
  var keepsReader = false
  private var kept: [MethodCall] = []

  init(_ daemon: PrivateBus, _ loop: EventLoop) throws {
    self.loop = loop
    bus = try daemon.connect(loop)
    let list = ObjectInterface.Method("GetDevices", output: [.init("ao", "devices")]) { call throws(BusError) in
      call.reply { $0.appendObjectPaths([FakeReader.path]) }
    }
    let enrolled = ObjectInterface.Method(
      "ListEnrolledFingers", input: [.init("s", "username")], output: [.init("as", "enrolled_fingers")]
    ) { [weak self] call throws(BusError) in
      let count = self?.fingers[try call.message.readString()] ?? 0
      guard count > 0 else { throw BusError(name: "net.reactivated.Fprint.Error.NoEnrolledPrints", message: "") }
      call.reply { $0.appendStrings((0..<count).map { "finger-\($0)" }) }
    }
    let claim = ObjectInterface.Method("Claim", input: [.init("s", "username")]) { [weak self] call throws(BusError) in
      self?.calls.append("Claim " + (try call.message.readString()))
      guard self?.isBusy == false else {
        throw BusError(name: "net.reactivated.Fprint.Error.AlreadyInUse", message: "")
      }
      call.reply()
    }
    let start = ObjectInterface.Method("VerifyStart", input: [.init("s", "finger_name")]) {
      [weak self] call throws(BusError) in
      self?.calls.append("VerifyStart " + (try call.message.readString()))
      call.reply()
    }
    let stop = ObjectInterface.Method("VerifyStop") { [weak self] call throws(BusError) in
      self?.calls.append("VerifyStop")
      call.reply()
    }
    let release = ObjectInterface.Method("Release") { [weak self] call throws(BusError) in
      self?.calls.append("Release")
      if self?.keepsReader == true { self?.kept.append(call) } else { call.reply() }
    }
    let manager = "/net/reactivated/Fprint/Manager"
    slots = [
      try bus.export(ObjectInterface("net.reactivated.Fprint.Manager", methods: [list]), below: manager) {
        $0 == manager
      },
      try bus.export(
        ObjectInterface(Self.device, methods: [enrolled, claim, start, stop, release]),
        below: "/net/reactivated/Fprint/Device"
      ) { $0 == FakeReader.path },
    ]
    var owned = false
    try bus.requestNameAsync("net.reactivated.Fprint") { owned = (try? $0.get()) == .owned }
    try loop.run(until: "the name of fprintd") { owned }
  }

  /// Reports a touch, on this connection or on `other`.
  func touch(_ word: String, isDone: Bool = true, as other: Bus? = nil, to destination: String? = nil) throws {
    try (other ?? bus).emitSignal(path: Self.path, interface: Self.device, member: "VerifyStatus", to: destination) {
      $0.appendString(word)
      $0.appendBool(isDone)
    }
  }
}
