import LatchkeyText

// The sentences of all reasons, for logs and for a person. Each sentence is only here, so that po/extract finds it.
extension Reason {
  /// The sentence, with its values.
  package var phrase: Phrase {
    switch self {
    case .subject(let reason): reason.phrase
    case .session(let reason): reason.phrase
    case .refusal(let reason): reason.phrase
    case .service(let reason): reason.phrase
    case .finger(let reason): reason.phrase
    case .device(let reason): reason.phrase
    case .keybag(let reason): reason.phrase
    case .vault(let reason): reason.phrase
    case .item(let reason): reason.phrase
    case .backup(let reason): reason.phrase
    case .rules(let reason): reason.phrase
    case .verbatim(let words): Phrase(verbatim: words)
    case .because(let what, let why): Phrase("\(what): \(why)")
    case .both(let first, let second): Phrase("\(first); \(second)")
    case .numbers(1, let shown): Phrase("1 (number \(shown))")
    case .numbers(let count, let shown): Phrase("\(count) (numbers \(shown))")
    case .healed(let loss, let generation): Reason.healed(loss, generation)
    case .hasItems(1): Phrase("it has 1 item")
    case .hasItems(let count): Phrase("it has \(count) items")
    case .never(let service): Phrase("\(service) never unlocks the vault")
    case .sessionOfClass(let name): Phrase("a process of a session of class \(name)")
    case .sessionOfType(let name): Phrase("a process of a session of type \(name)")
    case .folderIs(let path): Phrase("the folder of the vault is \(path)")
    case .generationsOff(let settings): Phrase("generations are off in \(settings)")
    case .ambiguous(let count, let names): Phrase("\(count) collections have that name; name one of these: \(names)")
    case .fixedAlias(let name): Phrase("the alias \(name) cannot be changed")
    case .onlySetAccess(let of): Phrase("only \(of).SetAccess changes what an item requires")
    case .noFingerOpensIt(let why): Phrase("no finger opens it: \(why)")
    case .noFingerOpens(let item, let why): Phrase("no finger opens \(item): \(why)")
    case .fingersUntold(let error): Phrase("fprintd does not tell which fingers are enrolled (\(error))")
    case .slowLookup(let user): Phrase("looking up user \(user) takes long; try again in a moment")
    case .noAccount(let user): Phrase("user \(user) has no account on this machine")
    case .stateDamaged(let file): Phrase("the file \(file) of the service's state is damaged; it was left as it is")
    case .stateUnreadable(let file, let why): Phrase("the file \(file) of the service's state: \(why)")
    case .stateNewer(let file, let format):
      Phrase("the file \(file) of the service's state has format \(format), a newer one")
    case .stateNotWritten(let file, let why):
      Phrase("the file \(file) of the service's state cannot be written: \(why)")
    case .stateNotErased(let file, let why):
      Phrase("the file \(file) of the service's state cannot be erased: \(why)")
    case .tpmFailed(let step, let code): Phrase("\(step) failed (0x\(code))")
    case .newerFormat(let version): Phrase("the file has format \(version), which is newer than this program")
    case .unknownFormat(let version): Phrase("the file has format \(version), which this program does not know")
    case .copyTookPlace(let loss): Phrase("\(loss), and its copy took its place")
    case .itIs(let now): Phrase("it is \(now) now")
    case .slowPassword(let seconds):
      Phrase(
        """
        checking the login password took \(seconds) s, because its cost was chosen on a faster machine: run \
        'latchkey rotate' to choose it again for this one
        """)
    case .accessibleMustBe(let oneOf): Phrase("latchkey:accessible must be one of \(oneOf)")
    case .noSuchRequirement(let name):
      Phrase(
        """
        '\(name)' is none of user-presence, device-passcode, biometry-any, biometry-current-set, \
        application-password, or, and
        """)
    case .notCreatedForRoom(let mebibytes):
      Phrase(
        """
        there is no vault yet, and less than \(mebibytes) MiB are free on the disk: free some space, then run \
        'latchkey unlock'
        """)
    case .lacksRoom(let mebibytes): Phrase("less than \(mebibytes) MiB are free on the disk")
    case .foreignItem(let id): Phrase("item \(id) was put into the vault by somebody else, so it is not opened")
    case .sqlite(let message): Phrase("it is damaged (SQLite: \(message))")
    case .doesNotOpen(let what): Phrase("\(what) does not open")
    case .rowDamaged(let table): Phrase("a row of table \(table) is damaged")
    case .itemDamaged(let id): Phrase("item \(id) is damaged")
    case .itemIndexDamaged(let id): Phrase("the index of item \(id) is damaged")
    case .itemAccessDamaged(let id): Phrase("the access control of item \(id) is damaged")
    case .itemWithoutKey(let id): Phrase("item \(id) has no class key")
    case .itemWithoutCollection(let id): Phrase("item \(id) is in no collection")
    case .nextUnlockHeals(let from):
      Phrase("the next unlock with the password makes it again from generation \(from)")
    case .tooLargeToHeal(let mebibytes):
      Phrase("it or a generation has more than \(mebibytes) MiB, so it is not repaired by itself")
    case .newerItems(let count): Phrase("newer items that could be read: \(count)")
    case .olderItems(let list): Phrase("items from the generation, perhaps older or deleted since: \(list)")
    case .deletedItems(let list): Phrase("items that were deleted since the generation, and stay deleted: \(list)")
    case .deletedCollections(let list):
      Phrase("collections that were deleted since the generation, and stay deleted: \(list)")
    case .lostItems(let list): Phrase("items that are gone: \(list)")
    case .damagedFile(let name): Phrase("the damaged file is \(name)")
    case .noGeneration(let number): Phrase("there is no generation \(number)")
    case .generationUnreadable(let number, let why): Phrase("generation \(number) cannot be read: \(why)")
    case .generationItemDamaged(let id): Phrase("item \(id) of the generation is damaged")
    case .generationStays(let name): Phrase("\(name) cannot be removed")
    case .collectionLimit(let count): Phrase("a vault has up to \(count) collections")
    case .isOfClass(let name): Phrase("it is of the class \(name) now")
    case .noKeyForClass(let name): Phrase("this device has no key for the class \(name)")
    case .newerBackup(let format): Phrase("the backup has format \(format), which is newer than this program")
    case .damagedWithin(let bytes): Phrase("the backup is damaged within its first \(bytes) bytes")
    case .damagedChunk(let number): Phrase("the backup is damaged in chunk \(number)")
    case .unknownKey(let key): Phrase("unknown key \(key); a rule can have name:, match: and class:")
    case .ruleLacks(let key): Phrase("the rule has no \(key):")
    case .unknownClass(let name, let known): Phrase("unknown class \(name); the classes are \(known)")
    case .notAttribute(let name): Phrase("\(name) is not an attribute of items, so no rule can match it")
    case .noPattern(let name): Phrase("\(name) has no pattern; '*' in quotes fits every value")
    case .largerThan(let kibibytes): Phrase("it is larger than \(kibibytes) KiB")
    case .fileLargerThan(let kibibytes): Phrase("the file is larger than \(kibibytes) KiB")
    case .unreadableFile(let error): Phrase("it cannot be read (\(error))")
    case .outOfRange(let from, let to): Phrase("must be a number from \(from) to \(to)")
    case .givenTwice(let key): Phrase("'\(key)' is given twice")
    case .notUTF8(let problem): Phrase("it is not UTF-8 text (\(problem))")
    case .rulesStay(let error, let rest): Phrase("\(error). Until the file is corrected, \(rest).")
    case .settingsStay(let error): Phrase("\(error). Until you correct the file, the former settings stay in force.")
    case .andMore(let count): Phrase("and \(count) more")
    }
  }

  private static func healed(_ loss: Loss, _ generation: UInt32) -> Phrase {
    switch (loss, generation) {
    case (.missing, 0):
      Phrase("vault.db was missing, and was made again from a generation and what could be read of the file")
    case (.missing, _):
      Phrase(
        """
        vault.db was missing, and was made again from generation \(generation) and what could be read of the file
        """)
    case (.damaged, 0):
      Phrase("vault.db was damaged, and was made again from a generation and what could be read of the file")
    case (.damaged, _):
      Phrase(
        """
        vault.db was damaged, and was made again from generation \(generation) and what could be read of the file
        """)
    case (.foreign, 0):
      Phrase("vault.db was another vault's, and was made again from a generation and what could be read of the file")
    case (.foreign, _):
      Phrase(
        """
        vault.db was another vault's, and was made again from generation \(generation) and what could be read of the \
        file
        """)
    }
  }
}

extension Phrase.StringInterpolation {
  /// Another reason within a sentence, translated together with the sentence.
  mutating func appendInterpolation(_ reason: Reason) { appendInterpolation(reason.phrase) }
}
