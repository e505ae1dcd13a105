// PAMClient: the application's side of PAM, and the terminal on which it asks.
//
// `latchkey-prompt` and `latchkey` ask a person by a PAM service, as login(1) and sudo(8) do.
// ``Authentication`` runs the `auth` stack of a service once. A ``Conversation`` answers its questions:
// ``TerminalConversation`` on the terminal of the process, and the module Prompters has a conversation for
// windows.
//
//     let outcome = Authentication.run(
//       service: service, user: user, terminal: nil, conversation: conversation)
//
// ``ServiceFile`` looks at the file of the service first. Without a file, or without a line for `auth`,
// libpam would take the stack of `other`, which may accept anybody. Such a service is unavailable here.
//
// The module promises that an answer is read into locked memory, byte by byte, and that libpam's copy
// of it is erased when the stack ends. The terminal is as before afterwards, even if a signal comes in
// the middle of a question. ``HeldSignals`` keeps signals back for a moment and loses none.
//
// It does not derive keys. The stack's own module, pam_latchkey.so, hands the password to
// `latchkey-derive`. It does not decide what the person is asked: the stack does, and the administrator
// owns the stack. It is not for the daemon, because a run blocks as long as the person takes.
