import LatchkeyPrivateBus
import LatchkeySystemd

/// The part of fprintd that answers about fingers, on a private bus with a connection of its own.
final class FakeFprintd {
  struct Reader {
    var name: String
    /// The answer about fingers; nil for no answer.
    var answer: Result<[String], BusError>?
  }

  static let service = "net.reactivated.Fprint"

  let bus: Bus
  private let loop: EventLoop
  private var slots: [BusSlot] = []
  private var unanswered: [MethodCall] = []
  var readers: [Reader]
  /// The answer about readers, if it is not the list.
  var listing: Result<Void, BusError>? = .success(())
  /// The users in the questions.
  private(set) var users: [String] = []

  init(_ daemon: PrivateBus, _ loop: EventLoop, _ readers: [Reader]) throws {
    self.loop = loop
    self.readers = readers
    bus = try daemon.connect(loop)
    let list = ObjectInterface.Method("GetDevices", output: [.init("ao", "devices")]) {
      [weak self] call throws(BusError) in
      guard let self else { return }
      guard let listing else { return unanswered.append(call) }
      try listing.get()
      call.reply { $0.appendObjectPaths(self.readers.indices.map(FakeFprintd.path)) }
    }
    let fingers = ObjectInterface.Method(
      "ListEnrolledFingers", input: [.init("s", "username")], output: [.init("as", "enrolled_fingers")]
    ) { [weak self] call throws(BusError) in
      guard let self else { return }
      users.append(try call.message.readString())
      guard let answer = reader(call.path)?.answer else { return unanswered.append(call) }
      let names = try answer.get()
      call.reply { $0.appendArray("s", of: names) { $0.appendString($1) } }
    }
    let name = ObjectInterface.Property("name", "s") { [weak self] path, out in
      out.appendString(self?.reader(path)?.name ?? "")
    }
    let manager = "/net/reactivated/Fprint/Manager"
    slots = [
      try bus.export(ObjectInterface(Self.service + ".Manager", methods: [list]), below: manager) { $0 == manager },
      try bus.export(
        ObjectInterface(Self.service + ".Device", methods: [fingers], properties: [name]),
        below: "/net/reactivated/Fprint/Device"
      ) { [weak self] path in self?.reader(path) != nil },
    ]
    var owned = false
    try bus.requestNameAsync(Self.service) { owned = (try? $0.get()) == .owned }
    try loop.run(until: "the name of fprintd") { owned }
  }

  private static func path(_ number: Int) -> String { "/net/reactivated/Fprint/Device/\(number)" }

  private func reader(_ path: String) -> Reader? {
    readers.indices.first { FakeFprintd.path($0) == path }.map { readers[$0] }
  }
}
