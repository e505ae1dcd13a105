import Foundation
import Glibc
import Testing

/// swtpm is a TPM in software. A test can suspend and start it like a machine's TPM.
final class SoftwareChip {
  /// The path of swtpm; nil if it is not installed.
  static let program = ["/usr/bin/swtpm", "/usr/local/bin/swtpm"].first { (path: String) in access(path, X_OK) == 0 }

  /// The argument of TPM2_Shutdown and TPM2_Startup.
  enum Mode: UInt16 {
    /// The TPM loses its state, as when the machine is off.
    case clear = 0
    /// The TPM keeps its state, as while the machine is suspended.
    case state = 1
  }

  private let process = Process()
  private let folder: URL
  private let port: UInt16

  /// The address of swtpm for tpm2-tss.
  var tcti: String { "swtpm:host=127.0.0.1,port=\(port)" }

  init() throws {
    folder = URL(filePath: "/tmp/latchkey-swtpm-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    port = try SoftwareChip.freePort()
    process.executableURL = URL(filePath: try #require(SoftwareChip.program))
    process.arguments = [
      "socket", "--tpm2", "--tpmstate", "dir=\(folder.path)", "--flags", "not-need-init,startup-clear", "--server",
      "type=tcp,port=\(port)", "--ctrl", "type=tcp,port=\(port + 1)",
    ]
    (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
    try process.run()
    // swtpm listens shortly after its start.
    while process.isRunning, (try? exchange(port + 1, [], 0)) == nil { usleep(5000) }
    try #require(process.isRunning)
  }

  deinit {
    // swtpm blocks SIGTERM.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    try? FileManager.default.removeItem(at: folder)
  }

  /// The machine suspends or shuts down by `shutdown`, and comes back by `startup`.
  func restart(_ shutdown: Mode?, _ startup: Mode) throws {
    if let shutdown { try command(0x0145, shutdown) }
    // The control channel's CMD_INIT, without flags: the power comes back.
    let answer = try exchange(port + 1, [0, 0, 0, 2, 0, 0, 0, 0], 4)
    try #require(answer == [0, 0, 0, 0])
    try command(0x0144, startup)
  }

  private func command(_ code: UInt16, _ mode: Mode) throws {
    let packet: [UInt8] = [
      0x80, 0x01, 0, 0, 0, 12, 0, 0, UInt8(code >> 8), UInt8(code & 0xff), 0, UInt8(mode.rawValue),
    ]
    let answer = try exchange(port, packet, 10)
    try #require(Array(answer.suffix(4)) == [0, 0, 0, 0])
  }

  private struct Failure: Error {}

  private static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
    return address
  }

  /// Sends a packet over a new connection, and reads `count` bytes.
  private func exchange(_ port: UInt16, _ packet: [UInt8], _ count: Int) throws -> [UInt8] {
    let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard number >= 0 else { throw Failure() }
    defer { close(number) }
    var address = SoftwareChip.address(port)
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0, packet.isEmpty || send(number, packet, packet.count, Int32(MSG_NOSIGNAL)) == packet.count
    else { throw Failure() }
    var answer = [UInt8](repeating: 0, count: count)
    guard count == 0 || recv(number, &answer, count, Int32(MSG_WAITALL)) == count else { throw Failure() }
    return answer
  }

  /// A free port whose next port is free too, as tpm2-tss expects.
  private static func freePort() throws -> UInt16 {
    for _ in 0..<50 {
      let numbers = (0..<2).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
      defer { for number in numbers { close(number) } }
      guard let port = bound(numbers[0], 0), port < .max, bound(numbers[1], port + 1) != nil else { continue }
      return port
    }
    throw Failure()
  }

  private static func bound(_ number: Int32, _ port: UInt16) -> UInt16? {
    var address = address(port)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(number, pointer, size) == 0 ? getsockname(number, pointer, &size) : -1
      }
    }
    return status == 0 ? UInt16(bigEndian: address.sin_port) : nil
  }
}
