import CLatchkeyLinux
import Glibc
import LatchkeyControl
import LatchkeyPosix
import LatchkeySystemd

/// The program that caused a question to the person, as far as the system shows it. It is a hint for the person and not a proof: a
/// program of the same user can run as any other program, or make another program act for it.
public struct Caller: Equatable, Sendable {
  /// The caller's name: the sandboxed application, or else its executable and the user's unit in which it runs; empty if unknown.
  public let name: String
  /// The device of the caller's terminal, as "/dev/pts/3"; empty if the caller has no terminal, or another user's terminal.
  public let terminal: String
  /// Whether that terminal is at another machine, as for a login by ssh, so that its person cannot touch a reader of this machine.
  public internal(set) var isAway = false
  /// The window that the caller named, in any form.
  public var window = ""
  /// The reason that the caller gave, in its own words.
  public var reason = ""
  /// The caller's process, if its program is an interpreter: a person knows the script, not the interpreter.
  public private(set) var interpreter: PromptRequest.Interpreter?

  /// An unknown caller.
  public static let unknown = Caller(name: "", terminal: "")

  private init(name: String, terminal: String) {
    self.name = name
    self.terminal = terminal
  }

  /// A sandboxed application, by its id.
  public init(application: String) { self.init(name: application, terminal: "") }

  /// The same caller, for a question in a window only.
  var withoutTerminal: Caller {
    var caller = Caller(name: name, terminal: "")
    (caller.window, caller.reason, caller.interpreter) = (window, reason, interpreter)
    return caller
  }

  /// Reads the caller from `/proc`. If the process has ended and another process has its id, the hint is wrong.
  ///
  /// - Parameter pidfd: the process itself, if the bus has passed it on. Then the hint is about that process or is missing.
  public init(pid: Int32, pidfd: Int32? = nil) {
    self.init(pid: pid, pidfd: pidfd, proc: ProcessFolder.proc) { LoginSession.isAway(process: $0, of: getuid()) }
  }

  init(pid: Int32, pidfd: Int32? = nil, proc: String, isAway: (Int32) -> Bool = { _ in false }) {
    // An open folder in `/proc` always belongs to the same process. A later check shows whether the process still existed.
    guard let process = ProcessFolder(pid: pid, in: proc), pidfd.map({ linux_is_alive($0) != 0 }) ?? true else {
      self = .unknown
      return
    }
    let state = Caller.state(process.read("stat", limit: 4096))
    self.init(
      name: Caller.name(of: process, called: state.command),
      terminal: ControllingTerminal.path(ofDevice: UInt32(bitPattern: state.terminal)) ?? "")
    self.isAway = !terminal.isEmpty && isAway(pid)
    let program = Caller.program(process.link("exe")) ?? ""
    // A sandboxed application has a name of its own, whichever program the application runs.
    if name == program || name.hasPrefix("\(program) ("), let pid = UInt32(exactly: pid) {
      interpreter = PromptRequest.Interpreter(program: program, pid: pid, started: state.started)
    }
  }

  private static func name(of process: borrowing ProcessFolder, called command: String) -> String {
    if let info = process.fileInRoot(FlatpakInfo.name, limit: FlatpakInfo.sizeLimit),
      let application = FlatpakInfo.application(in: info)
    {
      return application
    }
    let groups = text(process.read("cgroup", limit: 16 << 10))
    let label = text(process.read("attr/apparmor/current", limit: 4096))
    if let snap = UnitName.snap(inControlGroups: groups) ?? UnitName.snap(in: label) { return snap }
    let program = program(process.link("exe")) ?? command
    guard let unit = UnitName.application(inControlGroups: groups) else { return program }
    // A unit can have other programs than its application: a terminal's unit has every command that is typed.
    let short = unit.hasSuffix(".service") ? unit.dropLast(".service".count) : unit.split(separator: ".").last ?? ""
    return program.isEmpty || short.lowercased() == program.lowercased() ? unit : "\(program) (\(unit))"
  }

  /// The name of an executable, by a link to it.
  private static func program(_ link: [UInt8]?) -> String? {
    guard var path = link, path.first == UInt8(ascii: "/") else { return nil }
    // The kernel appends this if the file was deleted, for example by an update.
    let gone = Array(" (deleted)".utf8)
    if path.suffix(gone.count).elementsEqual(gone) { path.removeLast(gone.count) }
    guard let name = path.split(separator: UInt8(ascii: "/")).last else { return nil }
    return String(decoding: name, as: UTF8.self)
  }

  private static func text(_ bytes: [UInt8]?) -> String { String(decoding: bytes ?? [], as: UTF8.self) }

  /// The name that a process gave itself, the number of its terminal, and when it started, from `/proc/PID/stat`.
  private static func state(_ bytes: [UInt8]?) -> (command: String, terminal: Int32, started: UInt64) {
    // "pid (name) state ppid pgrp session tty ...": the name may hold anything, also blanks and brackets. The search is by bytes,
    // because the end of a name can form one character with the bracket.
    guard let bytes, let open = bytes.firstIndex(of: UInt8(ascii: "(")),
      let close = bytes.lastIndex(of: UInt8(ascii: ")")), open < close
    else { return ("", 0, 0) }
    let fields = bytes[(close + 1)...].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
    return (
      String(decoding: bytes[(open + 1)..<close], as: UTF8.self), fields.count > 4 ? Int32(fields[4]) ?? 0 : 0,
      fields.count > 19 ? UInt64(fields[19]) ?? 0 : 0
    )
  }
}
