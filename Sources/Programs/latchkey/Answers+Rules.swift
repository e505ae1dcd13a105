import LatchkeyGettext

extension Answers {
  /// The errors of a file of rules or of settings.
  static let rules: [Template] = [
    Template("a rule must have name:, match: and class:"),
    Template("unknown key \(.value); a rule can have name:, match: and class:"),
    Template("the rule has no \(.value):"),
    Template("must be a text"),
    Template("unknown class \(.value); the classes are \(.value)"),
    Template("match: must name at least one attribute and its pattern, as 'application: my-program'"),
    Template("the file must be a list of rules, each of which begins with '- name:'"),
    Template("it is no file"),
    Template("it belongs to another user; make it yours"),
    Template("others can write it; 'chmod go-w' it"),
    Template("it is a link, which is not followed; put the file itself there"),
    Template("it is larger than \(.value) KiB"),
    Template("it cannot be read (\(.text))"),
    Template("install Latchkey again"),
    Template("no rule of this file is in force"),
    Template("the rules that it had before stay in force"),
    Template("the file is larger than \(.value) KiB"),
    Template("no YAML"),
    Template("a second document begins here; the file may have one only"),
    Template("too many lists and mappings in each other"),
    Template("a name must be plain text"),
    Template("'\(.value)' is given twice"),
    Template("the text ends too early"),
    Template("lines that begin with % are not used here"),
    Template("a text that begins with * must be in quotes"),
    Template("a text that begins with & must be in quotes"),
    Template("a text that begins with ! must be in quotes"),
    Template("it is no UTF-8 text (\(.text))"),
    Template("\(.value) is not an attribute of items, so no rule can match it"),
    Template("\(.value) has no pattern; '*' in quotes fits every value"),
    Template("\(.text). Until the file is corrected, \(.text)."),
  ]
}
