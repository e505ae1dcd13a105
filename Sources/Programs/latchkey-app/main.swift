// latchkey-app: the window. Arguments and wiring; see AppWindow.
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
  try Sodium.initialize()
  try Gcrypt.initialize()
  Sodium.eraseWhenEnded(and: Gcrypt.eraseAll)
  Language.begin()
  let application = Application(name: "org.latchkey.app")
  var window: AppWindow?
  return application.run(CommandLine.arguments) { words in
    let page = (try? Options(words))?.page
    if window == nil { window = AppWindow(of: application) }
    window?.present(page)
  }
}

do {
  exit(try serve(try Options(CommandLine.arguments)))
} catch Options.Failure.help {
  print(Options.usage)
  exit(0)
} catch Options.Failure.usage {
  print(Options.usage)
  exit(64)
} catch {
  Journal.log(.error, "latchkey-app cannot start: \(error)")
  exit(1)
}
