// HistoryControl: the messages of the vault's history on the control socket.
//
// The history is all former states of the vault, and a generation is one of them. `latchkey history`
// lists generations, makes one, compares one with the vault and brings items back. `latchkey rm
// --everywhere` removes items from all generations. Each of these commands sends one or a few messages:
// ``ListGenerations``, ``MakeGeneration``, ``CompareGeneration``, ``RestoreFromGeneration``,
// ``FindInGenerations``, ``ForgetEverywhere``.
//
//     try client.ask(CompareGeneration(number: 0), until: deadline)
//     while try client.ask(GoThroughGeneration(), until: deadline).hasMore {}
//
// The daemon does long work in small steps: ``GoThroughGeneration`` continues the work of its
// connection. Results come in pages.
//
// The module promises that such work ends with its connection. A message whose name begins with Get
// changes nothing. ``FinishRestore`` writes the items that come back, and answers with the first page
// of the report. Messages name things by the numbers of generations and the uuids of items. So a label
// goes to the daemon only in a selection that a person typed.
//
// It does not read generations. The rooms History and Healing of the module Vault do that, and the
// daemon's HistoryService serves these messages, for one client at a time. No message has a secret.
// Pages have labels only while the vault is unlocked.
//
// docs/developer/protocols.md has the bytes of each message.
