import CLatchkeyHelper
import Glibc
import LatchkeyPosix
import LatchkeySodium

/// Starts latchkey-derive for one request. Only latchkey-derive works with the root key.
public struct DeriveProgram {
  private let path: String
  private let account: Account
  /// The home folder with the vault; empty for the account's home folder.
  private let home: String
  private let runtime: String
  /// The socket of the device key service; empty for the usual socket.
  private let device: String

  /// The program at a path, and the user and the folders that its requests name.
  public init(path: String, account: Account, home: String, runtime: String, device: String = "") {
    (self.path, self.account, self.home) = (path, account, home)
    (self.runtime, self.device) = (runtime, device)
  }

  /// Finds the installed program, relative to a program in `folder`, or the program that was built beside it; nil if there is none.
  public static func find(beside folder: String) -> String? {
    [folder + "/../libexec/latchkey-derive", folder + "/latchkey-derive"].first { access($0, X_OK) == 0 }
  }

  /// Runs the program for one request. The request is erased after the program has read it.
  ///
  /// - Parameters:
  ///   - given: the moment at which the person gave the last secret, on the clock of `Process.microsecondsSinceBoot`.
  ///   - prompt: the number of the daemon's prompt that this answers; 0 if there is none.
  ///   - output: the terminal to which the program writes a recovery code. It gets no other terminal.
  ///   - anywhere: whether the output need not be a terminal.
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
    let child: ChildProcess
    do {
      let theirs = FileDescriptor(owning: ends.1)
      let nowhere = try FileDescriptor.open("/dev/null", flags: O_WRONLY)
      child = try ChildProcess(
        path, [], input: theirs.number, output: output ?? nowhere.number, errors: nowhere.number,
        environment: ["PATH=/usr/bin:/bin", "LANG=C"], keepsIgnoredSignals: true)
    }
    memory.give(over: ours)
    ours.endSending()
    var answer: [UInt8] = [0, 0]
    let count = recv(ours.number, &answer, 2, Int32(MSG_WAITALL))
    child.wait()
    return count == 1 && helper_has_result(answer[0]) ? HelperResult(rawValue: answer[0]) : nil
  }

  private func request(
    _ operation: HelperOperation, _ token: borrowing SecureBytes, _ password: borrowing SecureBytes, flags: HelperFlags,
    given: UInt64, prompt: UInt64
  ) throws(SodiumError) -> SecureBytes {
    func counted(_ bytes: [UInt8]) -> [UInt8] { [UInt8(bytes.count & 0xFF), UInt8(bytes.count >> 8 & 0xFF)] + bytes }
    func size(_ count: Int) -> [UInt8] { [UInt8(count & 0xFF), UInt8(count >> 8 & 0xFF)] }
    var head: [UInt8] = [UInt8(HELPER_VERSION), operation.rawValue, flags.rawValue]
    head += (0..<8).map { UInt8(truncatingIfNeeded: given >> (8 * $0)) }
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
    let length = (0..<4).map { UInt8(truncatingIfNeeded: UInt32(total) >> (8 * $0)) }
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
  /// The answer to a request that the program has done.
  public static var done: HelperResult { .unlocked }
}
