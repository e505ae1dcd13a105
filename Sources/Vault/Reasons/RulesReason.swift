import LatchkeyText

/// Mistakes in a file of rules or of settings.
public enum RulesReason: String, ReasonGroup {
  case incomplete, mustBeText, noPatterns, notList, notFile, otherOwner, writableByOthers, link, missing
  case installAgain, noneInForce, formerInForce, notMapping, generationsOnOff, unknownSetting, notYAML
  case secondDocument, tooDeep, nameNotPlain, endsEarly, directive, alias, anchor, tag, noMemory

  package static let name = "rules"

  package var phrase: Phrase {
    switch self {
    case .incomplete: Phrase("a rule must have name:, match: and class:")
    case .mustBeText: Phrase("must be a text")
    case .noPatterns: Phrase("match: must name at least one attribute and its pattern, as 'application: my-program'")
    case .notList: Phrase("the file must be a list of rules, each of which begins with '- name:'")
    case .notFile: Phrase("it is not a regular file")
    case .otherOwner: Phrase("it belongs to another user; make it yours")
    case .writableByOthers: Phrase("other users can write to it; 'chmod go-w' forbids that")
    case .link: Phrase("it is a link, which is not followed; put the file itself there")
    case .missing: Phrase("the file is missing")
    case .installAgain: Phrase("install Latchkey again")
    case .noneInForce: Phrase("no rule of this file is in force")
    case .formerInForce: Phrase("the rules that it had before stay in force")
    case .notMapping: Phrase("the file must have lines as 'daily: 7'")
    case .generationsOnOff: Phrase("generations: must be on or off")
    case .unknownSetting:
      Phrase("unknown key; there are generations:, hourly:, daily:, weekly:, days: and mebibytes:")
    case .notYAML: Phrase("invalid YAML")
    case .secondDocument: Phrase("a second document begins here; the file may have one only")
    case .tooDeep: Phrase("lists and mappings are nested too deeply")
    case .nameNotPlain: Phrase("a name must be plain text")
    case .endsEarly: Phrase("the text ends too early")
    case .directive: Phrase("lines that begin with % are not used here")
    case .alias: Phrase("a text that begins with * must be in quotes")
    case .anchor: Phrase("a text that begins with & must be in quotes")
    case .tag: Phrase("a text that begins with ! must be in quotes")
    case .noMemory: Phrase("not enough memory")
    }
  }
}
