import Glibc
import LatchkeyPosix
import Testing

@Suite("Programs that are started")
struct ChildProcessTests {
  @Test("They get the environment that is given, and ignore signals only if that is wanted")
  func environmentAndSignals() async {
    await #expect(processExitsWith: .success) {
      signal(SIGUSR2, SIG_IGN)
      for keeps in [true, false] {
        let pipe = try FileDescriptor.pipeOfOnePage { (output) throws(PosixError) in
          let child = try ChildProcess(
            "/bin/sh", ["-c", "kill -USR2 $$; echo $WORD$HOME"], output: output, environment: ["WORD=given"],
            keepsIgnoredSignals: keeps)
          child.wait()
        }
        var bytes = [UInt8](repeating: 0, count: 16)
        guard read(pipe.number, &bytes, 16) == (keeps ? 6 : 0) else { exit(keeps ? 2 : 3) }
      }
    }
  }
}
