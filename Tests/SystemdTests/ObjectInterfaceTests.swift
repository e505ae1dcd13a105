import Foundation
import LatchkeyPrivateBus
import LatchkeySystemd
import Testing

@Suite(.timeLimit(.minutes(20))) struct ObjectInterfaceTests {
  private typealias Argument = ObjectInterface.Argument

  @Test func everyTypeTravels() throws {
    let pair = try Pair()
    let types = [
      "s", "o", "y", "b", "i", "u", "t", "ay", "(oayays)", "a{sv}", "ao", "v", "a{ss}", "as",
    ]
    let arguments = types.map { Argument($0, "value") }
    let slot = try pair.export(methods: [
      .init("Echo", input: arguments, output: arguments) { call throws(BusError) in
        let m = call.message
        let s = try m.readString()
        let o = try m.readObjectPath()
        let y = try m.readByte()
        let b = try m.readBool()
        try m.skip()
        let u = try m.readUInt32()
        let t = try m.readUInt64()
        let bytes = try m.readOctets()
        let secret = try m.readStruct("oayays") { (m) throws(BusError) in
          (try m.readObjectPath(), try m.readOctets(), try m.readOctets(), try m.readString())
        }
        var dictionary: [String: UInt32] = [:]
        try m.readDictionary("sv") { (m) throws(BusError) in
          let key = try m.readString()
          dictionary[key] = try m.readVariant("u") { (m) throws(BusError) in try m.readUInt32() }
        }
        let paths = try m.readObjectPaths()
        let held = try m.peekVariant()
        let v = try m.readVariant(held) { (m) throws(BusError) in try m.readString() }
        let map = try m.readStringDictionary()
        let list = try m.readStrings()
        call.reply { w in
          w.appendString(s)
          w.appendObjectPath(o)
          w.appendByte(y)
          w.appendBool(b)
          w.appendInt32(-3)
          w.appendUInt32(u)
          w.appendUInt64(t)
          w.appendBytes(bytes)
          w.appendStruct("oayays") { w in
            w.appendObjectPath(secret.0)
            w.appendBytes(secret.1)
            w.appendBytes(secret.2)
            w.appendString(secret.3)
          }
          w.appendDictionary("sv") { w in
            for (key, value) in dictionary.sorted(by: { $0.key < $1.key }) {
              w.appendEntry("sv") { w in
                w.appendString(key)
                w.appendVariant("u") { $0.appendUInt32(value) }
              }
            }
          }
          w.appendObjectPaths(paths)
          w.appendVariant("s") { $0.appendString(v) }
          w.appendStringDictionary(map)
          w.appendStrings(list)
        }
      }
    ])
    let reply = try pair.call("Echo") { w in
      w.appendString("grüße")
      w.appendObjectPath("/a/b")
      w.appendByte(255)
      w.appendBool(true)
      w.appendInt32(-3)
      w.appendUInt32(.max)
      w.appendUInt64(.max)
      w.appendBytes([])
      w.appendStruct("oayays") { w in
        w.appendObjectPath("/s")
        w.appendBytes([])
        w.appendBytes([1, 2, 3])
        w.appendString("text/plain")
      }
      w.appendDictionary("sv") { w in
        w.appendEntry("sv") { w in
          w.appendString("k")
          w.appendVariant("u") { $0.appendUInt32(7) }
        }
      }
      w.appendObjectPaths(["/x", "/y"])
      w.appendVariant("s") { $0.appendString("inside") }
      w.appendStringDictionary(["b": "2", "a": "1"])
      w.appendStrings([])
    }
    #expect(reply.signature == types.joined())
    #expect(try reply.readString() == "grüße")
    #expect(try reply.readObjectPath() == "/a/b")
    #expect(try reply.readByte() == 255)
    #expect(try reply.readBool())
    try reply.skip()
    #expect(try reply.readUInt32() == .max)
    #expect(try reply.readUInt64() == .max)
    #expect(try reply.withBytes { $0.byteCount } == 0)
    let value = try reply.readStruct("oayays") { (m) throws(BusError) in
      try m.skip()
      try m.skip()
      return try m.readOctets()  // The last field is not read.
    }
    #expect(value == [1, 2, 3])
    try reply.skip()
    #expect(try reply.readObjectPaths() == ["/x", "/y"])
    #expect(try reply.peekVariant() == "s")
    try reply.skip()
    #expect(try reply.readStringDictionary() == ["a": "1", "b": "2"])
    #expect(try reply.readStrings() == [])
    #expect(reply.isAtEnd)
    withExtendedLifetime(slot) {}
  }

  @Test func descriptorsTravel() throws {
    let pair = try Pair()
    let slot = try pair.export(methods: [
      .init("Write", input: [Argument("h", "to")]) { call throws(BusError) in
        let fd = try call.message.readUnixFD()
        _ = write(fd, "hello", 5)
        close(fd)
        call.reply()
      }
    ])
    let pipe = Pipe()
    _ = try pair.call("Write") { $0.appendUnixFD(pipe.fileHandleForWriting.fileDescriptor) }
    #expect(pipe.fileHandleForReading.availableData == Data("hello".utf8))
    withExtendedLifetime(slot) {}
  }

  @Test func wrongTypesThrowAndNeverTrap() throws {
    let pair = try Pair()
    var outcomes: [String] = []
    // Each reader is a structure, because the compiler (6.3.1) crashes on an array of closures with typed throws.
    struct Reader { let read: (Message) throws(BusError) -> Void }
    let readers = [
      Reader { (m) throws(BusError) in _ = try m.readString() },
      Reader { (m) throws(BusError) in _ = try m.readObjectPath() },
      Reader { (m) throws(BusError) in _ = try m.readBool() },
      Reader { (m) throws(BusError) in _ = try m.readByte() },
      Reader { (m) throws(BusError) in _ = try m.readUInt64() },
      Reader { (m) throws(BusError) in _ = try m.readUnixFD() },
      Reader { (m) throws(BusError) in _ = try m.withBytes { $0.byteCount } },
      Reader { (m) throws(BusError) in _ = try m.readObjectPaths() },
      Reader { (m) throws(BusError) in _ = try m.readStringDictionary() },
      Reader { (m) throws(BusError) in try m.readStruct("ss") { _ in } },
      Reader { (m) throws(BusError) in try m.readStruct("not a signature") { _ in } },
      Reader { (m) throws(BusError) in try m.readVariant("s") { _ in } },
      Reader { (m) throws(BusError) in _ = try m.peekVariant() },
      // The container is right, but its content is wrong. Later a read goes past the end.
      Reader { (m) throws(BusError) in try m.readStruct("ii") { (m) throws(BusError) in _ = try m.readString() } },
      Reader { (m) throws(BusError) in
        try m.skip()
        try m.skip()
      },
      Reader { (m) throws(BusError) in
        try m.skip()
        _ = try m.readString()
      },
    ]
    var installed = false
    let slot = try pair.service.matchSignal(
      interface: "test.Interface", member: "Shape", installed: { _ in installed = true }
    ) { message throws(BusError) in
      for reader in readers {
        message.rewind()
        do throws(BusError) {
          try reader.read(message)
          outcomes.append("read")
        } catch {
          outcomes.append(error.name)
        }
      }
      outcomes.append("done")
    }
    try pair.loop.run(until: "match") { installed }
    try pair.client.emitSignal(
      path: "/", interface: "test.Interface", member: "Shape", to: pair.serviceName,
      build: { w in
        w.appendStruct("ii") { w in
          w.appendInt32(1)
          w.appendInt32(2)
        }
      })
    try pair.loop.run(until: "all readers") { outcomes.last == "done" }
    #expect(outcomes.dropLast() == ArraySlice(repeating: standard + "InvalidArgs", count: readers.count))
    withExtendedLifetime(slot) {}
  }

  @Test func aVariantOfAnotherTypeThrows() throws {
    let pair = try Pair()
    let slot = try pair.export(methods: [
      .init("Take", input: [Argument("v", "any")]) { call throws(BusError) in
        try call.message.readVariant("s") { (m) throws(BusError) in _ = try m.readString() }
        call.reply()
      }
    ])
    #expect(
      errorName {
        _ = try pair.call("Take") { $0.appendVariant("u") { $0.appendUInt32(1) } }
      } == standard + "InvalidArgs")
    // The bus itself refuses a call whose signature differs from the declared signature.
    #expect(errorName { _ = try pair.call("Take") } == standard + "InvalidArgs")
    #expect(errorName { _ = try pair.call("Unknown") } == standard + "UnknownMethod")
    withExtendedLifetime(slot) {}
  }

  @Test func whatCannotBeWrittenThrows() throws {
    let pair = try Pair()
    #expect(
      errorName { _ = try pair.call("X") { $0.appendString("a\0b") } }
        == standard + "InvalidArgs")
    #expect(
      errorName { _ = try pair.call("X") { $0.appendObjectPath("no/path") } }
        == standard + "Failed")
    let slot = try pair.export(methods: [
      .init("Wrong", output: [Argument("s", "out")]) { call in
        call.reply { $0.appendUInt32(1) }
      },
      .init("Throwing", output: [Argument("s", "out")]) { call in
        call.reply { (w) throws(BusError) in
          w.appendString("half")
          throw BusError(name: "test.Error.Late", message: "no")
        }
      },
    ])
    // An answer of an undeclared type is a bug, but the caller still gets an error.
    #expect(errorName { _ = try pair.call("Wrong") } == standard + "Failed")
    #expect(errorName { _ = try pair.call("Throwing") } == "test.Error.Late")
    withExtendedLifetime(slot) {}
  }

  @Test func callsAreAnsweredNowLaterOrByDropping() throws {
    let pair = try Pair()
    var kept: MethodCall?
    let slot = try pair.export(methods: [
      .init("Now", output: [Argument("s", "sender")]) { call in
        let sender = call.sender
        call.reply { $0.appendString(sender) }
        call.fail(.failed("a second answer is ignored"))
      },
      .init("Throws") { _ throws(BusError) in throw BusError(name: "test.Error.Own", message: "why") },
      .init("Dropped") { _ in },
      .init("Later", output: [Argument("u", "n")]) { call in kept = call },
    ])
    #expect(try pair.call("Now").readString() == pair.clientName)
    #expect(errorName { _ = try pair.call("Throws") } == "test.Error.Own")
    #expect(errorName { _ = try pair.call("Dropped") } == standard + "Failed")
    var answer: UInt32?
    try pair.client.callAsync(
      destination: pair.serviceName, path: "/test/one", interface: "test.Interface", member: "Later"
    ) { answer = try? $0.get().readUInt32() }
    try pair.loop.run(until: "call") { kept != nil }
    // Other calls are answered meanwhile.
    #expect(try pair.call("Now").readString() == pair.clientName)
    #expect(answer == nil)
    kept?.reply { $0.appendUInt32(5) }
    #expect(kept?.isAnswered == true)
    try pair.loop.run(until: "late answer") { answer == 5 }
    withExtendedLifetime(slot) {}
  }

  @Test func onlyObjectsThatExistAnswer() throws {
    let pair = try Pair()
    var slot: BusSlot? = try pair.export(methods: [
      .init("Where", output: [Argument("s", "path")]) { call in
        let path = call.path
        call.reply { $0.appendString(path) }
      }
    ])
    #expect(try pair.call("Where", at: "/test/one").readString() == "/test/one")
    #expect(try pair.call("Where", at: "/test/two/deep").readString() == "/test/two/deep")
    #expect(errorName { _ = try pair.call("Where", at: "/test/two") } == standard + "UnknownObject")
    #expect(errorName { _ = try pair.call("Where", at: "/elsewhere") } == standard + "UnknownObject")
    _ = slot
    slot = nil
    #expect(errorName { _ = try pair.call("Where", at: "/test/one") } == standard + "UnknownObject")
  }

  @Test func anInterfaceMayBeTakenBackByItsOwnMethod() throws {
    let pair = try Pair()
    var slot: BusSlot?
    slot = try pair.export(methods: [
      .init("Leave") { call in
        slot = nil
        call.reply()
      }
    ])
    _ = try pair.call("Leave")
    #expect(slot == nil)
    #expect(errorName { _ = try pair.call("Leave") } == standard + "UnknownObject")
  }

  @Test func propertiesAreReadSetAndAnnounced() throws {
    let pair = try Pair()
    var label = "first"
    var setBy: String?
    let slot = try pair.export(properties: [
      .init(
        "Label", "s", flags: .emitsChange,
        getter: { _, w in w.appendString(label) },
        setter: { (_, m) throws(BusError) in
          let new = try m.readString()
          guard !new.isEmpty else { throw BusError(name: "test.Error.Empty", message: "") }
          label = new
          setBy = m.sender
        }),
      .init(
        "Items", "ao", flags: .invalidates,
        getter: { path, w in w.appendObjectPaths([path]) }),
      .init(
        "Secret", "s", flags: .explicit,
        getter: { (_, _) throws(BusError) in throw BusError(name: "test.Error.IsLocked", message: "locked") }),
    ])
    func get(_ name: String) throws -> Message {
      try pair.properties("Get") { w in
        w.appendString("test.Interface")
        w.appendString(name)
      }
    }
    func set(_ name: String, _ value: String) throws {
      _ = try pair.properties("Set") { w in
        w.appendString("test.Interface")
        w.appendString(name)
        w.appendVariant("s") { $0.appendString(value) }
      }
    }
    let first = try get("Label").readVariant("s") { (m) throws(BusError) in try m.readString() }
    #expect(first == "first")
    try set("Label", "second")
    #expect(label == "second")
    #expect(setBy == pair.clientName)
    #expect(errorName { try set("Label", "") } == "test.Error.Empty")
    #expect(errorName { try set("Items", "x") } == standard + "PropertyReadOnly")
    #expect(errorName { _ = try get("Secret") } == "test.Error.IsLocked")
    #expect(errorName { _ = try get("Nothing") } == standard + "UnknownProperty")

    let all = try pair.properties("GetAll") { $0.appendString("test.Interface") }
    var names: [String] = []
    try all.readDictionary("sv") { (m) throws(BusError) in
      names.append(try m.readString())
      try m.skip()
    }
    #expect(names.sorted() == ["Items", "Label"])

    var changed: [String: String] = [:]
    var invalidated: [String] = []
    var installed = false
    let match = try pair.client.matchSignal(
      sender: pair.serviceName, path: "/test/one", interface: "org.freedesktop.DBus.Properties",
      member: "PropertiesChanged", installed: { _ in installed = true },
      handler: { message throws(BusError) in
        _ = try message.readString()
        try message.readDictionary("sv") { (m) throws(BusError) in
          let name = try m.readString()
          changed[name] = try m.readVariant("s") { (m) throws(BusError) in try m.readString() }
        }
        invalidated = try message.readStrings()
      })
    try pair.loop.run(until: "match") { installed }
    try pair.service.emitPropertiesChanged(path: "/test/one", interface: "test.Interface", names: ["Label", "Items"])
    try pair.loop.run(until: "change") { !changed.isEmpty }
    #expect(changed == ["Label": "second"])
    #expect(invalidated == ["Items"])
    withExtendedLifetime((slot, match)) {}
  }

  @Test func introspectionTellsAll() throws {
    let pair = try Pair()
    let slot = try pair.export(
      methods: [
        .init(
          "Find", input: [Argument("a{ss}", "attributes")],
          output: [Argument("ao", "unlocked"), Argument("ao", "locked")]
        ) { $0.reply() },
        .init("Old", flags: .deprecated) { $0.reply() },
      ],
      properties: [
        .init("Locked", "b", flags: .emitsChange, getter: { _, w in w.appendBool(true) })
      ],
      signals: [.init("Changed", [Argument("o", "item")])])
    let nodes = try pair.service.addNodeEnumerator(below: "/test") { _ in ["/test/one", "/test/two/deep", "not a path"]
    }
    func introspect(_ path: String) throws -> String {
      try pair.call("Introspect", at: path, interface: "org.freedesktop.DBus.Introspectable").readString()
    }
    let one = try introspect("/test/one")
    for line in [
      #"<interface name="test.Interface">"#, #"<method name="Find">"#,
      #"<arg type="a{ss}" name="attributes" direction="in"/>"#, #"<arg type="ao" name="unlocked" direction="out"/>"#,
      #"<arg type="ao" name="locked" direction="out"/>"#, #"<property name="Locked" type="b" access="read">"#,
      #"<signal name="Changed">"#, #"name="org.freedesktop.DBus.Deprecated""#,
    ] { #expect(one.contains(line), "\(line)") }
    #expect(one.contains(#"<arg type="o" name="item""#))
    let top = try introspect("/test")
    #expect(top.contains(#"<node name="one"/>"#))
    #expect(top.contains(#"<node name="two/deep"/>"#) || top.contains(#"<node name="two"/>"#))
    withExtendedLifetime((slot, nodes)) {}
  }
}
