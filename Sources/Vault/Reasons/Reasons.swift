// Reasons: codes of everything that is refused, wrong, locked or left out.
//
// A ``Reason`` is a code with typed values. It travels between processes as a ``CodedReason``, and the
// program that shows it writes the sentence, in the person's language. No program looks at another program's
// English.
//
//     let reason = Reason.of(.keybag, .keybag(.missing))
//     print(reason.text)
//
// Each topic is an enum of its own (``ReasonGroup``): ``VaultReason``, ``KeybagReason``,
// ``DeviceReason``, ``ItemReason`` and more. ``SubjectReason`` names what a line is about, as in
// "keybag: the file is missing". `Reason+Phrase.swift` has the sentence of each code, as a ``Phrase``
// that catalogues translate.
//
// The module promises that every code has a sentence, and that both ends read the same values in the
// same order. The log and `--json` use the English sentence, and `--json` has the code as well.
//
// It does not translate. It links no catalogue, because programs that run as root give reasons too. It
// does not decide what a program does next. Callers compare codes, never texts, and
// Tests/Repository/test_reasons.py looks for programs that compare English. It is on the floor Vault,
// because the vault gives most reasons. docs/developer/protocols.md has the bytes.
