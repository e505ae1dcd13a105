// HelperProgram: starts `latchkey-derive` for one request.
//
// Only that program works with the root key. The PAM module starts it at a login. Another program may
// have a secret that opens the keybag, such as the answer of a security key or a recovery code. It
// starts `latchkey-derive` by ``DeriveProgram``.
//
//     let program = DeriveProgram(path: path, account: account, home: "", runtime: runtime, device: "")
//     let result = try program.answer(to: .openBySecurityKey, token: answer, password: nothing)
//
// The request has secrets in it, so it goes through no socket and no pipe. It is in memory without a
// name (``RequestMemory``), whose descriptor goes to the program. The program reads the request, erases
// it, and answers one byte, a `HelperResult`. The program has a clean environment. Of its caller's
// descriptors it has only the terminal for a recovery code.
//
// The module promises that the request's memory is locked, in no core dump, and erased when the program
// has answered, or has ended without an answer. If there is no answer, or if it is not a
// `HelperResult`, the result is nil.
//
// It has no sentences for a person: `latchkey` and `latchkey-prompt` have their own. It does not know
// which operation needs which secrets, and checks no secret. docs/developer/protocols.md has the bytes
// of the request, and `Sources/C/CHelper` its numbers.
