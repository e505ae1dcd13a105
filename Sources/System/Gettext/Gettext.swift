// Gettext: the language of the person.
//
// A program calls ``Language/begin()`` once, at its start. From then on ``translated(_:)`` returns its
// text in the language that the environment names, with the values in their places.
//
//     Language.begin()
//     print(translated("\(count) items are locked"))
//
// The source has the whole English sentence as a literal. `po/extract` reads these literals, because
// xgettext knows no Swift, and `make translations` merges them into po/. ``Templates`` recognizes a
// text that was written into a file in English, and translates it when it is shown.
//
// The module promises three things. A translation that lacks a value, or has one too many, is not shown: the value may be the name
// of a program in a question. Catalogues come only from the prefix that the program is installed in, and a language with a "/" in
// it is refused. Nothing else changes with the language: numbers, times, system errors and log lines stay the same, because the
// process stays in the locale "C".
//
// It does not translate what root's programs say. The PAM module, `latchkey-derive` and
// `latchkey-deviced` do not link it, since a catalogue would be one more file for them to parse. It
// does not translate logs or `--json`, which are for programs. It does not follow a change of the
// environment by itself: the daemon calls ``Language/use(_:)`` again when it knows the desktop's
// language.
