// Text: JSON, texts with values, and searches within strings, without Foundation.
//
// Foundation adds megabytes to a program, and so do regular expressions. The daemon may not have them,
// and the other programs do not need them. This module has the few parts that Latchkey uses.
//
// ``JSONValue`` is a value of JSON (RFC 8259). It parses text, and encodes and decodes `Codable` types.
// ``Phrase`` is a sentence with its values, written as a literal, from which catalogues get their
// entry. ``ShellCommand`` is a command line that a person is shown, in which every value is quoted.
// `String` gets searches by bytes.
//
//     let line: ShellCommand = "sudo rm \(path)"
//     let text = try JSONValue(report).text(isPretty: true)
//
// The module promises that parsing ends on any input: the depth is bounded, and a key that an object
// names twice is an error. A ``ShellCommand`` is safe to paste. A ``Phrase`` never loses or adds a
// value.
//
// It does not hold secrets, which never become a `String`. Importers read JSON with secrets by a reader
// of their own in ForeignKeyrings. It does not translate, because Gettext does. It has no regular
// expressions, no dates and no locale. `make build` compiles its JSON into the stand-in for
// FoundationEssentials as well (packaging/FoundationEssentials), which only ArgumentParser uses.
// docs/developer/decisions.md has the sizes and times behind this choice.
