// Coverage-guided fuzzing of all code that reads foreign data. A trap, or a result that a target finds wrong, ends the
// process, and libFuzzer keeps the input.
//
//     latchkey-fuzz TARGET [OPTIONS AND FOLDERS OF LIBFUZZER...]
//     latchkey-fuzz TARGET FILE      repeats a kept input
//     latchkey-fuzz TARGET --seeds FOLDER
//     latchkey-fuzz                  lists the targets

import CLatchkeyFuzzer
import Glibc
import LatchkeySodium

guard CommandLine.argc > 1, let target = Target(rawValue: CommandLine.arguments[1]) else {
  print(Target.allCases.map(\.rawValue).joined(separator: "\n"))
  exit(CommandLine.argc > 1 ? 2 : 0)
}
try Sodium.initialize()
if CommandLine.argc == 4, CommandLine.arguments[2] == "--seeds" {
  for (number, seed) in try target.seeds().enumerated() {
    writeFile("\(CommandLine.arguments[3])/seed-\(number)", seed)
  }
  exit(0)
}
Target.chosen = target.body
// libFuzzer installs no handler for a signal that has one, such as Swift's handler for backtraces and our own for the
// erasure. Without its handlers, libFuzzer would keep no input, and the first alarm of its own clock would end it.
for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGALRM, SIGINT, SIGTERM] { signal(number, SIG_DFL) }

// libFuzzer takes everything behind its program's name for its own.
var count = CommandLine.argc - 1
var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv + 1
exit(
  LLVMFuzzerRunDriver(&count, &arguments) { data, size in
    Target.chosen?(Array(UnsafeBufferPointer(start: data, count: size)))
    return 0
  })
