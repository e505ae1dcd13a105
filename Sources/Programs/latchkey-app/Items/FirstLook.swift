/// Everything that the window shows at first, read in one go while GTK makes the window.
struct FirstLook: Sendable {
  let collections: [ShownCollection]
  /// The first step through the first collection; nil if there is no collection.
  let step: FoundStep?

  init(_ link: VaultLink) throws(Problem) {
    collections = try link.collections()
    guard let first = collections.first else {
      step = nil
      return
    }
    step = try FoundStep(link, first.path, [], from: 0, isDescribed: true)
  }
}
