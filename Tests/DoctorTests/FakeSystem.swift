import Foundation
import LatchkeyScratch

@testable import LatchkeyDoctor

/// The files of a system, in a folder of the test.
final class FakeSystem {
  private let scratch: ScratchFolder

  init(_ files: [String: String] = [:]) throws {
    scratch = try ScratchFolder()
    for (path, text) in files { try put(path, text) }
  }

  var path: String { scratch.path }
  var root: SystemRoot { SystemRoot(path) }

  /// Writes a file, and creates the folders above it.
  func put(_ name: String, _ text: String, mode: Int = 0o644) throws {
    let file = path + name
    try FileManager.default.createDirectory(
      atPath: (file as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
  }

  func append(_ line: String, to name: String) throws {
    let old = FileManager.default.contents(atPath: path + name).map { String(decoding: $0, as: UTF8.self) } ?? ""
    try put(name, old + line + "\n")
  }

  func link(_ name: String, to target: String) throws {
    try? FileManager.default.removeItem(atPath: path + name)
    try FileManager.default.createDirectory(
      atPath: ((path + name) as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(atPath: path + name, withDestinationPath: target)
  }

  func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: path + name) }

  /// Adds a process to the files of /proc.
  func process(
    _ id: Int, _ name: String, parent: Int = 1, uid: Int = 1000, arguments: [String] = [], lock: String = "8388608"
  )
    throws
  {
    try put("/proc/\(id)/status", "Name:\t\(name)\nPPid:\t\(parent)\nUid:\t\(uid)\t\(uid)\t\(uid)\t\(uid)\n")
    try put("/proc/\(id)/cmdline", (arguments.isEmpty ? [name] : arguments).map { $0 + "\0" }.joined())
    try put(
      "/proc/\(id)/limits",
      "Limit   Soft Limit   Hard Limit   Units\nMax locked memory         \(lock)   \(lock)   bytes\n")
  }

  /// Runs the command of a fix on these files, with stand-ins for the programs of distributions.
  func run(_ command: String) throws -> Int32 {
    var text = command
    for folder in ["/etc/", "/usr/lib/pam.d"] { text = text.replacing(folder, with: path + folder) }
    let shell = Process()
    shell.executableURL = URL(fileURLWithPath: "/bin/bash")
    shell.arguments = ["-c", FakeSystem.programs + text]
    shell.environment = ["PATH": "/usr/bin:/bin", "ROOT": path]
    try shell.run()
    shell.waitUntilExit()
    return shell.terminationStatus
  }

  private static let programs = """
    set -e
    sudo() { "$@"; }
    pam-auth-update() {
      for kind in auth session password; do echo "$kind optional pam_latchkey.so" >>"$ROOT/etc/pam.d/common-$kind"; done
    }
    authselect() {
      case "$1" in
      create-profile) test "$3" = -b; mkdir -p "$ROOT/etc/authselect/custom/$2"
        sed 's/^# Generated.*//' "$ROOT/etc/authselect/postlogin" >"$ROOT/etc/authselect/custom/$2/postlogin" ;;
      select) profile=$2; shift; printf '%s\\n' "$@" >"$ROOT/etc/authselect/authselect.conf"
        cp "$ROOT/etc/authselect/$profile/postlogin" "$ROOT/etc/authselect/postlogin" ;;
      apply-changes) profile=$(head -n1 "$ROOT/etc/authselect/authselect.conf")
        cp "$ROOT/etc/authselect/$profile/postlogin" "$ROOT/etc/authselect/postlogin" ;;
      esac
    }

    """
}

extension [Finding] {
  /// The finding of one check.
  func one(_ id: String) -> Finding? { first { $0.id == id } }
}
