import LatchkeyControl
import LatchkeyGettext
import LatchkeyHistoryControl
import LatchkeyPosix

/// Items to remove from every generation: items that the vault has, and items that only generations have.
struct PastItems {
  private let place: DaemonPlace
  private let found: [FoundItemsPage.Line]

  /// The items that only generations have, in words for a person.
  let titles: [String]

  /// Finds the items. Call this before anything is deleted: afterwards the names that items had in the generations are unknown.
  init(_ selector: ItemSelector, present: [ListedItem], _ place: DaemonPlace) throws {
    self.place = place
    let selection = selector.selection
    guard selection.fits, present.count <= GenerationSelection.itemLimit else {
      throw Failure.declined(
        translated("these are too many items at once. Name fewer than \(GenerationSelection.itemLimit)."))
    }
    found = try Failure.history {
      let client = try place.connect()
      let request = FindInGenerations(present: present.map(\.number), selection: selection)
      try client.ask(request, until: LatchkeyPosix.Process.now + HistoryLimits.answer)
      try client.goThroughGeneration()
      return try client.foundItems(until: LatchkeyPosix.Process.now + HistoryLimits.answer)
    }
    titles = found.filter { !$0.isPresent }.map { line in
      let label = line.label.isEmpty ? translated("(its label cannot be read now)") : line.label
      return TerminalText.printable(
        translated("\(ListedCollection.place(ofItem: line.item, in: line.collection))  \(label) (in generations only)"))
    }
  }

  /// Removes the items from every generation. The vault must not have them any more.
  func forget() throws -> Forgetting {
    guard !found.isEmpty else { return Forgetting(changed: 0, unreadable: []) }
    return try Failure.history {
      let client = try place.connect()
      let limit = HistoryLimits.writing
      var (changed, unreadable): (UInt32, [UInt32]) = (0, [])
      for start in stride(from: 0, to: found.count, by: GenerationSelection.itemLimit) {
        let some = found[start..<min(start + GenerationSelection.itemLimit, found.count)].map(\.uuid)
        try client.ask(ForgetEverywhere(items: some), until: LatchkeyPosix.Process.now + limit)
        try client.goThroughGeneration(countsGenerations: true)
        let result = try client.ask(GetForgetting(), until: LatchkeyPosix.Process.now + limit)
        (changed, unreadable) = (max(changed, result.changed), result.unreadable)
      }
      return Forgetting(changed: changed, unreadable: unreadable)
    }
  }
}

extension ItemSelector {
  /// The selection, for items of generations.
  var selection: GenerationSelection {
    switch self {
    case .attributes(let attributes): .attributes(attributes)
    case .paths(let paths):
      .items(paths.compactMap { UInt64($0[$0.index(after: $0.lastIndex(of: "/") ?? $0.startIndex)...]) })
    }
  }
}
