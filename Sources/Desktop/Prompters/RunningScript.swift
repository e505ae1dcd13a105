import Glibc
import LatchkeyControl
import LatchkeyPosix

/// The program that an interpreter runs, by its arguments. A hint for the person that is even weaker than the interpreter's own
/// name: a process can write any arguments over its own.
///
/// This program reads the arguments, not the daemon, because the kernel can wait for a process that changes its memory.
public enum RunningScript {
  /// The name of a script, module or class; nil if the arguments do not tell, as with `-c`.
  ///
  /// - Parameter process: from the request; nil if its program is no interpreter.
  public static func name(of process: PromptRequest.Interpreter?) -> String? {
    name(of: process, proc: "/proc")
  }

  static func name(of process: PromptRequest.Interpreter?, proc: String) -> String? {
    // The folder, once open, cannot become another process's.
    guard let process,
      let folder = try? FileDescriptor.open("\(proc)/\(process.pid)", flags: O_RDONLY | O_DIRECTORY),
      let state = read("stat", in: folder, limit: 4096), started(state) == process.started,
      let bytes = read("cmdline", in: folder, limit: 256 << 10)
    else { return nil }
    let words = bytes.split(separator: 0, omittingEmptySubsequences: false)
      .map { String(decoding: $0, as: UTF8.self) }
    return process.family.script(in: words.dropFirst())
  }

  private static func read(_ name: String, in folder: borrowing FileDescriptor, limit: Int) -> [UInt8]? {
    guard let file = try? FileDescriptor.open(name, at: folder.number, flags: O_RDONLY | O_NOFOLLOW) else { return nil }
    return try? file.readAll(limit: limit)
  }

  private static func started(_ state: [UInt8]) -> UInt64? {
    guard let close = state.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = state[(close + 1)...].split(separator: UInt8(ascii: " "))
    return fields.count > 19 ? UInt64(String(decoding: fields[19], as: UTF8.self)) : nil
  }
}

extension PromptRequest.Interpreter.Family {
  /// Options that take code as their argument. No script follows them.
  private var code: Set<String> {
    switch self {
    case .python: ["-c"]
    case .node: ["-e", "--eval", "-p", "--print", "-pe", "-i", "--interactive"]
    case .perl: ["-e", "-E"]
    case .ruby: ["-e"]
    case .java: []
    case .shell: ["-c"]
    }
  }

  /// Options that take the next word.
  private var taking: Set<String> {
    switch self {
    case .python: ["-W", "-X", "--check-hash-based-pycs"]
    case .node:
      [
        "-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions", "--env-file",
        "--title",
      ]
    case .perl: ["-I"]
    case .ruby: ["-r", "-I", "-C", "-E", "--encoding", "--external-encoding", "--internal-encoding"]
    case .java:
      [
        "-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--add-modules",
        "--add-exports", "--add-opens", "--add-reads", "--limit-modules", "--patch-module", "--source",
      ]
    case .shell: ["-o", "+o", "-O", "+O", "--rcfile", "--init-file"]
    }
  }

  /// Options whose next word is the program itself.
  private var naming: Set<String> {
    switch self {
    case .python: ["-m"]
    case .java: ["-jar", "-m", "--module"]
    case .node, .perl, .ruby, .shell: []
    }
  }

  /// - Parameter words: the arguments after the interpreter's own name.
  func script(in words: ArraySlice<String>) -> String? {
    var rest = words
    while let word = rest.popFirst() {
      if naming.contains(word) { return rest.first.flatMap(Self.file) }
      if code.contains(word) || word == "-" { return nil }
      if taking.contains(word) {
        _ = rest.popFirst()
        continue
      }
      if word == "--" { return rest.first.flatMap(Self.file) }
      guard word.hasPrefix("-") || (self == .shell && word.hasPrefix("+")) else { return Self.file(word) }
      // Letters may stand together, as in "-we". The last letter may be one of those above.
      if self != .java, self != .node, !word.hasPrefix("--"), let last = word.last, word.count > 2 {
        let flags = word.dropFirst().allSatisfy { $0.isLetter }
        if flags, naming.contains("-\(last)") { return rest.first.flatMap(Self.file) }
        if flags, code.contains("-\(last)") { return nil }
      }
    }
    return nil
  }

  /// The last part of a path; nil if nothing is left.
  private static func file(_ word: String) -> String? {
    word.split(separator: "/").last.map(String.init)
  }
}
