// HistoryControl: the messages of the vault's history on the control socket.
//
// The history is all former states of the vault, and a generation is one of them. `latchkey history`
// lists generations, makes one, compares one with the vault and brings items back. `latchkey rm
// --everywhere` takes items out of all generations. Each of these is a message or a few:
// ``ListGenerations``, ``MakeGeneration``, ``CompareGeneration``, ``RestoreFromGeneration``,
// ``FindInGenerations``, ``ForgetEverywhere``.
//
//     try client.ask(CompareGeneration(number: 0), until: deadline)
//     while try client.ask(GoThroughGeneration(), until: deadline).hasMore {}
//
// Long work is done in small steps: ``GoThroughGeneration`` continues what was begun on the connection. Results come in pages.
//
// The module promises that such work ends with its connection. A message whose name begins with Get
// changes nothing. ``FinishRestore`` is the one that writes what comes back, and answers with the first
// page of the report. Numbers of generations and uuids of items are all that a message needs to name
// something, so no label travels towards the daemon but in a selection that a person typed.
//
// It does not read generations. The rooms History and Healing of the module Vault do that, and the daemon's HistoryService
// serves these messages, one piece of work at a time. No message has a secret. Labels are in pages only while the vault is
// unlocked.
//
// docs/developer/protocols.md has the bytes of each message.
