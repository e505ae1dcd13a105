import CLatchkeyHelper
import CLatchkeyLinux
import Glibc
import LatchkeyPosix
import LatchkeySodium

/// latchkey-derive, started by this program for one request. Only that program works with the root key.
public struct DeriveProgram {
  private let path: String
  private let account: Account
  /// The home folder with the vault; empty for the account's.
  private let home: String
  private let runtime: String
  /// The socket of the device key service; empty for the usual one.
  private let device: String

  /// The program at a path, and the user and the folders that its requests name.
  public init(path: String, account: Account, home: String, runtime: String, device: String = "") {
    (self.path, self.account, self.home) = (path, account, home)
    (self.runtime, self.device) = (runtime, device)
  }

  /// The installed program, relative to a program in `folder`, or the one that was built beside that; nil without one.
  public static func find(beside folder: String) -> String? {
    [folder + "/../libexec/latchkey-derive", folder + "/latchkey-derive"].first { access($0, X_OK) == 0 }
  }

  /// Runs it for one request. The request is erased once it was read.
  ///
  /// - Parameters:
  ///   - given: when a person gave the last secret, on the clock of `Process.microsecondsSinceBoot`.
  ///   - prompt: the number of the daemon's prompt that this answers; 0 for none.
  ///   - output: where it writes a recovery code; it gets no other terminal.
  ///   - anywhere: whether the output may be something else than a terminal.
  /// - Throws: an error if the program cannot be started.
  public func answer(
    to operation: HelperOperation, token: borrowing SecureBytes, password: borrowing SecureBytes,
    given: UInt64 = Process.microsecondsSinceBoot, prompt: UInt64 = 0, output: Int32? = nil, anywhere: Bool = false
  ) throws -> HelperResult? {
    let request = try request(
      operation, token, password, flags: anywhere ? .anywhere : [], given: given, prompt: prompt)
    let memory = try RequestMemory(request)
    let ends = try FileDescriptor.connectedPair()
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

  private func spawn(input: Int32, output: Int32?) throws(PosixError) -> pid_t {
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
    // An event loop of this program has signals blocked, and the child would inherit that.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    var arguments = [strdup("latchkey-derive"), nil]
    var environment = [strdup("PATH=/usr/bin:/bin"), strdup("LANG=C"), nil]
    defer { for word in arguments + environment { free(word) } }
    var child: pid_t = 0
    let status = posix_spawn(&child, path, &actions, &attributes, &arguments, &environment)
    guard status == 0 else { throw PosixError("posix_spawn", code: status) }
    return child
  }

  private func request(
    _ operation: HelperOperation, _ token: borrowing SecureBytes, _ password: borrowing SecureBytes, flags: HelperFlags,
    given: UInt64, prompt: UInt64
  ) throws(SodiumError) -> SecureBytes {
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
        case .prompt: prompt == 0 ? "" : String(prompt)
        case .remoteHost, .shadow, .services, nil: ""
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
  /// The answer to a request that was carried out.
  public static var done: HelperResult { .unlocked }
}
