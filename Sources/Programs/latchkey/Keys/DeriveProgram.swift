import CLatchkeyHelper
import CLatchkeyLinux
import Glibc
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium

/// latchkey-derive, started by this command for one request. Only that program works with the root key.
struct DeriveProgram {
  let path: String
  let account: Account
  /// The home folder with the vault; empty for the account's.
  let home: String
  let runtime: String
  /// The socket of the device key service; empty for the usual one.
  let device: String

  /// The program as `make install` places it, relative to this one, or in the folder in which both were built.
  static func find(_ given: String?) throws -> String {
    let folder = LatchkeyPosix.Process.folder
    let places = given.map { [$0] } ?? [folder + "/../libexec/latchkey-derive", folder + "/latchkey-derive"]
    guard let found = places.first(where: { access($0, X_OK) == 0 }) else {
      throw Failure.declined(translated("latchkey-derive is not installed beside this program."))
    }
    return found
  }

  /// Runs it for one request. The request is erased once it was read.
  ///
  /// - Parameters:
  ///   - given: when a person gave the last secret, on the clock of `Process.microsecondsSinceBoot`.
  ///   - output: where it writes a recovery code; it gets no other terminal.
  ///   - anywhere: whether the output may be something else than a terminal.
  func run(
    _ operation: HelperOperation, token: borrowing SecureBytes, password: borrowing SecureBytes,
    given: UInt64 = LatchkeyPosix.Process.microsecondsSinceBoot, output: Int32? = nil, anywhere: Bool = false
  ) throws -> HelperResult? {
    let request = try request(operation, token, password, flags: anywhere ? .anywhere : [], given: given)
    let memory: RequestMemory
    do throws(PosixError) { memory = try RequestMemory(request) } catch {
      throw Failure.declined(translated("latchkey-derive cannot be given a request: \(error)"))
    }
    let ends: (Int32, Int32)
    do throws(PosixError) { ends = try FileDescriptor.connectedPair() } catch {
      throw Failure.declined(translated("latchkey-derive cannot be started: \(error)"))
    }
    let ours = FileDescriptor(owning: ends.0)
    let child: pid_t
    do {
      let theirs = FileDescriptor(owning: ends.1)
      child = try spawn(input: theirs.number, output: output)
    }
    memory.give(over: ours)
    ours.endSending()
    var answer: [UInt8] = [0, 0]
    let count = recv(ours.number, &answer, 2, Int32(MSG_WAITALL))
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0 && errno == EINTR {}
    return count == 1 && helper_has_result(answer[0]) ? HelperResult(rawValue: answer[0]) : nil
  }

  private func spawn(input: Int32, output: Int32?) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    if let output {
      posix_spawn_file_actions_adddup2(&actions, output, 1)
    } else {
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    }
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
    posix_spawn_file_actions_addclosefrom_np(&actions, 3)
    var arguments = [strdup("latchkey-derive"), nil]
    var environment = [strdup("PATH=/usr/bin:/bin"), strdup("LANG=C"), nil]
    defer { for word in arguments + environment { free(word) } }
    var child: pid_t = 0
    let status = posix_spawn(&child, path, &actions, nil, &arguments, &environment)
    guard status == 0 else {
      let error = PosixError("posix_spawn", code: status)
      throw Failure.declined(translated("latchkey-derive cannot be started: \(error)"))
    }
    return child
  }

  private func request(
    _ operation: HelperOperation, _ token: borrowing SecureBytes, _ password: borrowing SecureBytes, flags: HelperFlags,
    given: UInt64
  ) throws -> SecureBytes {
    func counted(_ bytes: [UInt8]) -> [UInt8] { [UInt8(bytes.count & 0xFF), UInt8(bytes.count >> 8 & 0xFF)] + bytes }
    func size(_ count: Int) -> [UInt8] { [UInt8(count & 0xFF), UInt8(count >> 8 & 0xFF)] }
    var head: [UInt8] = [UInt8(HELPER_VERSION), operation.rawValue, flags.rawValue]
    head += withUnsafeBytes(of: given.littleEndian) { Array($0) }
    let terminal = ttyname(0).map { String(cString: $0) } ?? ""
    for number in 0..<UInt8(helper_field_count) {
      let text =
        switch HelperField(rawValue: number) {
        case .user: account.name
        case .service: "latchkey-unlock"
        case .TTY: terminal
        case .home: home
        case .runtime: runtime
        case .device: device
        case .remoteHost, .shadow, .prompt, .services, nil: ""
        @unknown default: ""
        }
      head += counted(Array(text.utf8))
    }
    head += size(token.count)
    let hasPassword: Bool
    switch operation {
    case .recover, .addSecurityKey, .removeSecurityKey, .renameSecurityKey: hasPassword = true
    default: hasPassword = false
    }
    let total = head.count + token.count + (hasPassword ? 2 + password.count : 0)
    var request = try SecureBytes(count: 4 + total)
    let length = withUnsafeBytes(of: UInt32(total).littleEndian) { Array($0) }
    request.write(length.span.bytes, at: 0)
    request.write(head.span.bytes, at: 4)
    request.write(token.bytes, at: 4 + head.count)
    if hasPassword {
      request.write(size(password.count).span.bytes, at: 4 + head.count + token.count)
      request.write(password.bytes, at: 6 + head.count + token.count)
    }
    return request
  }
}

extension HelperResult {
  /// The answer to a command that was carried out.
  static var done: HelperResult { .unlocked }
}
