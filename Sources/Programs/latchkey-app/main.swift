// latchkey-app: a window for the vault.
//
// `AppWindow` has the collections at the side, the state at the top, and one page at a time. `ItemsPage`
// lists the items, and `ItemPage` shows one of them. The other pages have former states, imports, ways
// to unlock, findings, and the log.
//
// The program is a client like any other. Items come by the Secret Service and `org.latchkey.*`, the state by the control socket.
// For the rest it runs `latchkey --json` (`ChildCommand`), which can be stopped at any moment.
//
//     page -> VaultThread -> VaultLink -> latchkeyd          page -> ChildCommand -> latchkey
//
// GTK's thread never waits for another process. `VaultThread` runs work on a connection of its own and hands the result back. One
// thread reads, one waits for the person's answer, and one uses the control socket. If the daemon is stopped or killed, a thread
// waits or fails, and the window says so.
//
// The program promises that a secret is in its memory only while it is shown or on the clipboard. A lock takes the secret away, and
// so does leaving the item. The program has no keys and no rights of its own: the window shows nothing that the person could not
// read with `latchkey`.
//
// It does not decide anything about items, classes or imports. It runs no command as root: it shows
// the command to copy.

import Glibc
import LatchkeyAdwaita
import LatchkeyGcrypt
import LatchkeyGettext
import LatchkeyPosix
import LatchkeySodium
import LatchkeySystemd

private func serve(_ options: Options) throws -> Int32 {
  Process.overwriteFreedMemory()
  Process.ignoreBrokenPipes()
  umask(0o077)
  // The commands that the window runs must not ask on the terminal from which somebody started it: nobody looks there, and a
  // question of a program in the background stops the window, too.
  let terminal = Glibc.open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
  if terminal >= 0 {
    // A program that a terminal window runs directly leads its session, and gets SIGHUP when it gives the terminal up.
    let former = signal(SIGHUP, SIG_IGN)
    _ = ioctl(terminal, UInt(TIOCNOTTY), 0)
    signal(SIGHUP, former)
    close(terminal)
  }
  try Sodium.initialize()
  try Gcrypt.initialize()
  Sodium.eraseWhenEnded(and: Gcrypt.eraseAll, atExit: false)
  Language.begin()
  let application = Application(name: "org.latchkey.app")
  var window: AppWindow?
  let open = { (page: PageName?) in
    if window == nil {
      // GTK follows the process's locale, which stays "C" (``Language``), so the program sets the direction itself.
      if ShownText.isRightToLeft { application.turnRightToLeft() }
      do throws(PosixError) { window = try AppWindow(of: application) } catch {
        Journal.log(.error, "latchkey-app cannot start: \(error)")
        exit(1)
      }
    }
    window?.present(page)
  }
  // The desktop file and notifications also open pages by these names.
  for page in PageName.allCases { application.add(action: page.rawValue) { open(page) } }
  application.onActivation { open(nil) }
  return application.run(CommandLine.arguments) { words in open((try? Options(words))?.page) }
}

ProgramStart.run("latchkey-app", usage: Options.usage) { try serve(try Options(CommandLine.arguments)) }
