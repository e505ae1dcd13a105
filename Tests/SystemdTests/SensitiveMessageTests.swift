import Foundation
import LatchkeyPrivateBus
import LatchkeySystemd
import Testing

/// Traces of a secret in this process after a call that carried it. The other side is a separate process (busctl), and outside the
/// message this process has the text only in rot13.
@Suite(.timeLimit(.minutes(20)), .serialized) struct SensitiveMessageTests {
  @Test(arguments: [100, 2000])
  func sensitiveCallsLeaveNothingBehind(repetitions: Int) throws {
    let pair = try Pair()
    var received = 0
    var kept: [MethodCall] = []
    func method(_ name: String, _ flags: ObjectInterface.MemberFlags) -> ObjectInterface.Method {
      .init(name, input: [.init("ay", "in")], output: [.init("ay", "out")], flags: flags) { call throws(BusError) in
        if flags.isEmpty { kept.append(call) }
        received = try call.message.withBytes { (bytes: RawSpan) throws(BusError) in
          call.reply { $0.appendBytes(bytes) }
          return bytes.byteCount
        }
      }
    }
    let slot = try pair.export(methods: [method("Hidden", .sensitive), method("Open", [])])
    try Self.call("Hidden", of: pair, Self.disguised("A", repetitions))
    #expect(received == 22 * repetitions)
    #expect(try Self.copies(of: Self.disguised("A", 1)) == 0)
    // The control: the search finds the text in a message that is still held. (Freed messages may have been overwritten.)
    try Self.call("Open", of: pair, Self.disguised("B", repetitions))
    #expect(try Self.copies(of: Self.disguised("B", 1)) > 0)
    withExtendedLifetime((slot, kept)) {}
  }

  /// 22 characters in rot13, different for each use.
  private static func disguised(_ letter: Character, _ repetitions: Int) -> String {
    String(repeating: "FrafvgvirZrffntrGrkg" + (letter == "A" ? "Kk" : "Ll"), count: repetitions)
  }

  private static func call(_ member: String, of pair: Pair, _ disguised: String) throws {
    let count = disguised.utf8.count
    let script = """
      set -- $(printf %s "$0" | tr 'A-Za-z' 'N-ZA-Mn-za-m' | od -An -v -tu1)
      exec busctl --address='\(pair.daemon.address)' call \(pair.serviceName) /test/one test.Interface \(member) \
      ay \(count) "$@" >/dev/null
      """
    let status = try pair.daemon.run(pair.loop, "/bin/sh", ["-c", script, disguised])
    #expect(status == 0)
  }

  /// The number of places in this process's writable memory that have the text.
  private static func copies(of disguised: String) throws -> Int {
    let length = disguised.utf8.count
    let chunk = 1 << 20
    // The search leaves out its own two mappings: the plain text, and the copied chunk.
    let size = chunk + 4096
    let own = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let own, own != MAP_FAILED else { throw PrivateBusError.timeout("memory") }
    defer { munmap(own, size) }
    let ownRange = UInt(bitPattern: own)..<UInt(bitPattern: own) + UInt(size)
    let needle = own.assumingMemoryBound(to: UInt8.self)
    for (index, byte) in disguised.utf8.enumerated() {
      let base: UInt8 = byte < UInt8(ascii: "a") ? UInt8(ascii: "A") : UInt8(ascii: "a")
      needle[index] = (byte - base + 13) % 26 + base
    }
    let copy = own + 4096
    let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
    defer { close(memory) }
    var found = 0
    for line in try String(contentsOfFile: "/proc/self/maps", encoding: .utf8).split(separator: "\n") {
      let fields = line.split(separator: " ", omittingEmptySubsequences: true)
      let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
      // Mappings beyond 4 GiB belong to a sanitizer.
      guard fields[1].hasPrefix("rw"), ends.count == 2, ends[1] - ends[0] < 1 << 32 else { continue }
      for piece in Self.pieces(ends[0]..<ends[1], without: ownRange) {
        var position = piece.lowerBound
        while position < piece.upperBound {
          let want = min(chunk, Int(piece.upperBound - position))
          let got = pread(memory, copy, want, off_t(position))
          guard got >= length else { break }
          var start = 0
          while got - start >= length, let hit = memchr(copy + start, Int32(needle[0]), got - start - length + 1) {
            if memcmp(hit, needle, length) == 0 { found += 1 }
            start = hit - copy + 1
          }
          // The next chunk overlaps the present chunk, so that the search finds a text across the edge.
          position += UInt(got - length + 1)
        }
      }
    }
    return found
  }

  private static func pieces(_ region: Range<UInt>, without hole: Range<UInt>) -> [Range<UInt>] {
    guard region.overlaps(hole) else { return [region] }
    return [
      region.lowerBound..<max(region.lowerBound, hole.lowerBound),
      min(region.upperBound, hole.upperBound)..<region.upperBound,
    ]
  }
}
