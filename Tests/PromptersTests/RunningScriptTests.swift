import Glibc
import LatchkeyControl
import LatchkeyScratch
import LatchkeySystemd
import Testing

@testable import LatchkeyPrompters

@Suite("The script of an interpreter") struct RunningScriptTests {
  private let scratch: ScratchFolder

  init() throws {
    scratch = try ScratchFolder()
    mkdir(scratch.file("7"), 0o700)
    try scratch.put("7/stat", Array("7 (w) (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 4711 0".utf8))
  }

  private func script(_ program: String, _ words: [String], started: UInt64 = 4711) throws -> String? {
    try scratch.put("7/cmdline", Array(words.map { $0 + "\0" }.joined().utf8))
    return RunningScript.name(
      of: PromptRequest.Interpreter(program: program, pid: 7, started: started), proc: scratch.path)
  }

  @Test(
    "The script of an interpreter is found by the arguments",
    arguments: [
      ("python3.11", ["python3", "/usr/bin/hg", "push"], "hg"), ("python3.11", ["hg", "-Es", "/usr/bin/hg"], "hg"),
      ("python3", ["python3", "-W", "ignore", "-X", "dev", "tool.py"], "tool.py"),
      ("python3", ["python3", "-m", "keyring", "get"], "keyring"),
      ("python3", ["python3", "-Im", "keyring"], "keyring"),
      ("python3", ["python3", "-c", "import keyring", "hg"], nil), ("python3", ["python3", "-sc", "x", "hg"], nil),
      ("python3", ["python3"], nil), ("python3", ["python3", "-", "hg"], nil), ("python3", [], nil),
      ("node", ["node", "--no-warnings", "-r", "ts", "/opt/x/cli.js"], "cli.js"),
      ("node", ["node", "-e", "1", "x"], nil),
      ("perl", ["perl", "-I", "lib", "-w", "./get.pl"], "get.pl"), ("perl", ["perl", "-we", "1", "x"], nil),
      ("ruby3.1", ["ruby", "-rjson", "/usr/bin/gem"], "gem"), ("ruby", ["ruby", "-e", "1"], nil),
      ("java", ["java", "-Xmx1g", "-cp", "a.jar:b.jar", "org.example.Main", "x"], "org.example.Main"),
      ("java", ["java", "-jar", "/opt/ide/ide.jar"], "ide.jar"),
      ("java", ["java", "--module", "m/org.x.Main"], "org.x.Main"),
      ("bash", ["bash", "-e", "/home/me/backup", "x"], "backup"), ("bash", ["bash", "-o", "pipefail", "x.sh"], "x.sh"),
      ("bash", ["-bash"], nil), ("sh", ["sh", "-c", "secret-tool", "x"], nil), ("sh", ["sh", "-ec", "y", "x"], nil),
      ("sh", ["sh", "--", "-odd"], "-odd"),
    ] as [(String, [String], String?)])
  func arguments(_ program: String, _ words: [String], _ expected: String?) throws {
    #expect(try script(program, words) == expected)
  }

  @Test("The script of an interpreter is asked of a process, which is ended if it hangs")
  func hanging() throws {
    func ask(_ script: String) throws -> String? {
      try scratch.put("program", Array("#!/bin/sh\n\(script)\n".utf8))
      chmod(scratch.file("program"), 0o755)
      let process = PromptRequest.Interpreter(program: "sh", pid: 7, started: 4711)
      let deadline = PromptDeadline(loop: try EventLoop(), limit: .seconds(60))
      let limit: Duration = script.hasPrefix("exec sleep") ? .milliseconds(1) : .seconds(60)
      let name = RunningScript.ask(about: process, until: deadline, by: scratch.file("program"), atMost: limit)
      #expect(!deadline.isOver)
      return name
    }
    #expect(try ask("echo -n $@") == "script-of 7 4711 sh")
    #expect(try ask("exit 1") == nil)
    #expect(try ask("exec sleep 1000") == nil)
  }

  @Test("The script is empty for a process that has ended, or whose number belongs to another process now")
  func gone() throws {
    #expect(try script("sh", ["sh", "x"]) == "x")
    #expect(try script("sh", ["sh", "x"], started: 4712) == nil)
    unlink(scratch.file("7/cmdline"))
    #expect(
      RunningScript.name(of: PromptRequest.Interpreter(program: "sh", pid: 7, started: 4711), proc: scratch.path) == nil
    )
    #expect(RunningScript.name(of: nil) == nil)
  }
}
