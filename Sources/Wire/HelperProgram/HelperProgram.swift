// HelperProgram: starts `latchkey-derive` for one request.
//
// That program alone works with the root key. PAM's module starts it at a login. A program that has
// another secret which opens the keybag, such as the answer of a security key or a recovery code,
// starts it by ``DeriveProgram``.
//
//     let program = DeriveProgram(path: path, account: account, home: "", runtime: runtime, device: "")
//     let result = try program.answer(to: .openBySecurityKey, token: answer, password: nothing)
//
// The request has secrets in it, so it crosses no socket and no pipe. It lies in memory without a name
// (``RequestMemory``), whose descriptor goes to the program. The program reads it, erases it, and
// answers one byte, a `HelperResult`. It has a clean environment, and no descriptor of its caller's
// but the terminal that a recovery code is written to.
//
// The module promises that the request's memory is locked, in no core dump, and erased when the
// program has answered, or has ended without an answer. No answer is nil, and an answer that is no
// `HelperResult` is too.
//
// It has no sentences for a person: `latchkey` and `latchkey-prompt` have theirs. It does not know
// which operation wants which secrets, and checks none. docs/developer/protocols.md has the bytes of
// the request, and `Sources/C/CHelper` its numbers.
