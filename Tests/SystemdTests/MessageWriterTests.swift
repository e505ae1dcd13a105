import CLatchkeySystemd
import LatchkeyPrivateBus
import Testing

@testable import LatchkeySystemd

@Suite("A message that cannot be written", .timeLimit(.minutes(20))) struct MessageWriterTests {
  private let pair: Pair
  /// The error of `appendString` for `text`.
  private let failure = BusError.invalidArguments("a text holds a NUL")
  private let text = "a\0b"

  init() throws { pair = try Pair() }

  /// Makes `build` write into a message that nobody sends. Returns the error, and the signature of the written part.
  private func write(
    _ build: (inout MessageWriter) throws(BusError) -> Void
  ) throws -> (error: BusError?, signature: String) {
    var pointer: OpaquePointer?
    sd_bus_message_new_signal(pair.service.pointer, &pointer, "/test", "test.Interface", "Told")
    let message = try #require(pointer)
    defer { sd_bus_message_unref(message) }
    var thrown: BusError?
    do throws(BusError) { try MessageWriter.write(message, build) } catch { thrown = error }
    return (thrown, sd_bus_message_get_signature(message, 1).map { String(cString: $0) } ?? "")
  }

  @Test("A message that cannot be written keeps its first error, and accepts nothing after it")
  func first() throws {
    let (error, signature) = try write { out in
      out.appendUInt32(1)
      out.appendString(text)
      #expect(out.failure == failure)
      out.appendObjectPath("no path")
      out.appendString("b")
      out.appendUInt32(2)
      out.appendBytes([1])
      out.appendUnixFD(0)
      out.appendStrings(["c"])
      out.appendStringDictionary(["d": "e"])
      out.open("r", "s")
      #expect(out.failure == failure)
    }
    #expect(error == failure && signature == "u")
  }

  @Test("A message that cannot be written calls no closure after an error")
  func closures() throws {
    var called: [String] = []
    let (error, signature) = try write { out in
      out.appendString(text)
      out.appendArray("s", of: ["a"]) { _, _ in called.append("array") }
      out.appendDictionary("sv") { _ in called.append("dictionary") }
      out.appendEntry("sv") { _ in called.append("entry") }
      out.appendStruct("s") { _ in called.append("structure") }
      out.appendVariant("s") { _ in called.append("variant") }
    }
    #expect(error == failure && signature == "" && called == [])
  }

  @Test("A message that cannot be written ends an array at the failing element")
  func elements() throws {
    var seen: [String] = []
    let (error, _) = try write { out in
      out.appendArray("s", of: ["a", text, "b"]) {
        seen.append($1)
        $0.appendString($1)
      }
    }
    #expect(error == failure && seen == ["a", text])
  }

  @Test("A message that cannot be written closes its containers without harm, however deep the error was")
  func containers() throws {
    let (nested, _) = try write { out in
      out.appendDictionary("sv") { all in
        all.appendEntry("sv") { entry in
          entry.appendString("key")
          entry.appendVariant("(sas)") { value in
            value.appendStruct("sas") { fields in
              fields.appendString("a")
              fields.appendStrings(["b", text])
            }
          }
        }
        all.appendEntry("sv") { _ in Issue.record("there is no second entry") }
      }
      out.appendUInt32(1)
    }
    #expect(nested == failure)
    let (spelledOut, _) = try write { out in
      out.open("a", "(s)")
      out.open("r", "s")
      out.appendString(text)
      // One more container is closed than was opened.
      for _ in 0..<3 { out.close() }
    }
    #expect(spelledOut == failure)
    // A container that failed to open is not closed.
    let (unopened, signature) = try write { out in
      out.open("v", "no type")
      out.close()
    }
    #expect(unopened?.message.hasPrefix("cannot write a container of no type: ") == true && signature == "")
  }

  @Test("A message that cannot be written may not become larger than a message")
  func size() throws {
    let half = [UInt8](repeating: 1, count: 32 << 20)
    let (error, signature) = try write { out in
      out.appendBytes(half)
      out.appendBytes(half)
      out.appendUInt32(1)
    }
    #expect(error == .limitsExceeded("that is more than a message may carry"))
    #expect(signature == "ay")
  }

  @Test("A message that cannot be written fails with the first error: its own, or the writer's")
  func order() throws {
    let late = BusError.failed("late")
    let (own, _) = try write { out throws(BusError) in
      out.appendString(text)
      throw late
    }
    #expect(own == failure)
    let (theirs, _) = try write { out throws(BusError) in
      out.appendString("a")
      throw late
    }
    #expect(theirs == late)
    let (inside, _) = try write { out throws(BusError) in
      try out.appendStruct("s") { _ throws(BusError) in throw late }
      Issue.record("that is not reached")
    }
    #expect(inside == late)
  }

  @Test("A message that cannot be written is not sent, and its error reaches the caller")
  func sending() throws {
    var called = 0
    var heard: [String] = []
    var isInstalled = false
    let slot = try pair.export(
      methods: [
        .init("Answer", output: [.init("s", "out")]) { call in
          called += 1
          call.reply {
            $0.appendString("half")
            $0.appendString(text)
          }
        }
      ],
      properties: [
        .init("Good", "s", getter: { $1.appendString("good") }), .init("Text", "s", getter: { $1.appendString(text) }),
      ])
    let match = try pair.client.matchSignal(
      sender: pair.serviceName, interface: "test.Interface", installed: { _ in isInstalled = true },
      handler: { message throws(BusError) in heard.append(try message.readString()) })
    try pair.loop.run(until: "match") { isInstalled }

    #expect(throws: failure) {
      try pair.service.emitSignal(path: "/test", interface: "test.Interface", member: "Told") {
        $0.appendString("half")
        $0.appendString(text)
      }
    }
    try pair.service.emitSignal(path: "/test", interface: "test.Interface", member: "Told") { $0.appendString("whole") }
    try pair.loop.run(until: "signal") { !heard.isEmpty }
    #expect(heard == ["whole"])

    #expect(throws: failure) { try pair.call("Answer") { $0.appendString(text) } }
    #expect(called == 0)
    #expect(throws: failure) { try pair.call("Answer") }
    #expect(called == 1)
    #expect(throws: failure) {
      try pair.properties("Get") {
        $0.appendString("test.Interface")
        $0.appendString("Text")
      }
    }
    #expect(throws: failure) { try pair.properties("GetAll") { $0.appendString("test.Interface") } }
    withExtendedLifetime((slot, match)) {}
  }
}
