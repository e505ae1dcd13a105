import Control
import Gcrypt
import Glibc
import Keybag
import Posix
import SecretService
import Sodium
import Systemd
import Vault

let options: Options
do { options = try Options(CommandLine.arguments) } catch {
  print(Options.usage)
  exit(64)
}
do {
  try Process.forbidInspection()
  try Sodium.initialize()
  try Gcrypt.initialize()
  let loop = try EventLoop()
  let vault = Vault(
    home: options.home, owner: options.account.uid, machine: nil)
  let daemon = Daemon(loop: loop, vault: vault, owner: options.account.uid)
  mkdir(ControlSocket.folder(runtime: options.runtime), 0o700)
  let server = try ControlServer(
    try LocalSocket.listen(at: ControlSocket.path(runtime: options.runtime)), loop: loop,
    owner: options.account.uid, handler: daemon)
  let bus = try Bus(.session, loop: loop)
  try daemon.start(bus: bus)
  let code = try loop.run()
  _ = server
  exit(code)
} catch {
  Journal.log(.error, "cannot start: \(error)")
  exit(1)
}
