import LatchkeyGettext
import LatchkeyText

/// The way in which Latchkey came onto the machine: packages of Debian, or its sources.
struct Installation {
  let root: SystemRoot

  /// Each package of Debian has this file, and `make install` does not install it.
  private var isPackaged: Bool {
    ["latchkey", "libpam-latchkey"].contains { root.names(in: "/usr/share/doc/\($0)").contains("copyright") }
  }

  /// The fix for files that are missing.
  var reinstalling: Finding.Fix {
    isPackaged
      ? .command("sudo apt-get install --reinstall latchkey libpam-latchkey")
      : .advice(
        translated("Install Latchkey again: reinstall its package, or run 'sudo make install' in its sources."))
  }

  /// The fix for the PAM module.
  ///
  /// - Parameter command: the command line that installs the module from the sources.
  func reinstallingModule(_ command: ShellCommand) -> Finding.Fix {
    isPackaged
      ? .command("sudo apt-get install --reinstall libpam-latchkey")
      : .advice(translated("In Latchkey's sources, run: \(command.line)"))
  }
}
