// YAML: the small part of YAML that a person can see.
//
// Class rules, settings of generations and the secrets of a project are YAML files that people write.
// ``YAMLNode`` is a piece of a document with the line on which it begins, so that a message can name
// that line.
//
//     guard let document = try YAMLNode.document(bytes) else { return }
//     if case .mapping(let entries) = document.content { show(entries) }
//
// There are three kinds: text, a list, and a mapping whose names keep their order. Every text is a
// text: `yes`, `12` and `~` are not interpreted, so "no" as a label stays "no".
//
// The module promises that parsing a hostile file ends soon and takes little memory. Size and depth are
// bounded. A name that comes twice in a mapping is an error. An error has its line and column, and a
// sentence for the person.
//
// It does not accept anchors, aliases, tags, or more than one document in a file. These let one line stand for a million, or change
// what another line means, and no reader of the file would see it. It writes no YAML. It does not hold secrets, because no file
// that it reads has any: a project's file names items, and does not contain them. It does not check what a file means. ClassRules
// and the vault's settings decide, and their messages name the line from here.
//
// libyaml does the parsing, and no other module calls it.
