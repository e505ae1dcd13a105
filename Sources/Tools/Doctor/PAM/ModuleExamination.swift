import Glibc
import LatchkeyGettext

/// Checks the installed files: the PAM module, in libpam's folder, and the programs that the module and the units start.
struct ModuleExamination {
  let root: SystemRoot
  /// The file of a program of this machine's kind.
  let program: String

  func findings() -> [Finding] { [module(), programs()] }

  /// The kind of machine in the head of an ELF file: class, byte order, machine.
  private func kind(of path: String, in root: SystemRoot) -> [UInt8]? {
    guard let head = root.bytes(path, count: 20), head.count == 20, head.prefix(4) == [0x7f, 0x45, 0x4c, 0x46] else {
      return nil
    }
    return [head[4], head[5], head[18], head[19]]
  }

  private func module() -> Finding {
    let id = "module"
    guard let ours = kind(of: program, in: SystemRoot()) else {
      return .unknown(id, translated("\(program) cannot be read"))
    }
    let name = "pam_latchkey.so"
    // The right folder is the folder with libpam's own modules.
    let folders = root.moduleFolders
    let homes = folders.filter { kind(of: "\($0)/pam_unix.so", in: root) == ours }
    let found = folders.map { "\($0)/\(name)" }.filter { root.contains($0) }
    guard let home = homes.first else {
      return .unknown(id, translated("the folder of the PAM modules was not found"))
    }
    guard let path = homes.map({ "\($0)/\(name)" }).first(where: { root.contains($0) }) else {
      let place =
        found.first.map { translated("\(name) is not in \(home), where PAM looks; it is in \($0)") }
        ?? translated("\(name) is not in \(home), where PAM looks")
      return Finding(
        id, .broken, place,
        fix: Installation(root: root).reinstallingModule("sudo make install PAMDIR=\(home)"))
    }
    guard kind(of: path, in: root) == ours else {
      return Finding(
        id, .broken, translated("\(path) was built for another kind of machine"),
        fix: Installation(root: root).reinstallingModule(
          "make clean build && sudo make install PAMDIR=\(home)"))
    }
    if let status = root.status(path), status.st_mode & 0o022 != 0 || status.st_uid != 0 {
      return Finding(
        id, .broken, translated("other users than root can write to \(path), and so control every login"),
        fix: .command("sudo chown root:root \(path) && sudo chmod 644 \(path)"))
    }
    return .ok(id, path)
  }

  private func programs() -> Finding {
    let id = "programs"
    // The units and the compiled module name the same folder.
    let units = UnitFiles(root: root, home: nil)
    guard let unit = units.installed("latchkeyd.service"),
      let line = root.lines(unit).first(where: { $0.hasPrefix("ExecStart=/") }),
      let first = line.dropFirst("ExecStart=".count).split(separator: " ").first,
      let slash = first.lastIndex(of: "/")
    else {
      return Finding(
        id, .broken, translated("the unit latchkeyd.service is not installed"),
        fix: Installation(root: root).reinstalling)
    }
    let folder = first[..<slash]
    let names = ["latchkeyd", "latchkey-derive", "latchkey-prompt", "latchkey-deviced"]
    let missing = names.filter { name in
      guard let status = root.status("\(folder)/\(name)") else { return true }
      return status.st_mode & 0o111 == 0
    }
    if missing.isEmpty { return .ok(id, translated("all are in \(folder)")) }
    return Finding(
      id, .broken, translated("missing from \(folder), or not executable: \(PAMExamination.list(missing))"),
      fix: Installation(root: root).reinstalling)
  }
}
