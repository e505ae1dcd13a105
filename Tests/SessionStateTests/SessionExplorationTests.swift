import Testing

/// Walks through every situation that a small world can reach, and checks every step.
private struct Exploration {
  /// All situations in the order in which the walk found them, so the first way to each is the shortest.
  private var found: [(situation: Situation, from: Int, by: Step?)] = []
  private var known: Set<UInt64> = []
  private(set) var steps = 0
  /// The shortest way to a situation that breaks an invariant.
  private(set) var violation: String?

  var situations: Int { found.count }

  init(_ universe: Universe, fault: Fault? = nil, invariants: [SessionInvariant] = SessionInvariant.allCases) {
    add(Situation(universe, fault: fault), from: -1, by: nil)
    var next = 0
    while next < found.count, violation == nil {
      let start = found[next].situation
      for step in start.steps {
        var situation = start
        let transition = situation.take(step)
        steps += 1
        let isNew = add(situation, from: next, by: step)
        for invariant in invariants where isNew || !invariant.looksAtSituationsOnly {
          guard let problem = invariant.violation(by: transition) else { continue }
          violation = "\(invariant): \(problem), after \(way(to: next) + [step])"
          return
        }
      }
      next += 1
    }
  }

  @discardableResult
  private mutating func add(_ situation: Situation, from: Int, by step: Step?) -> Bool {
    guard known.insert(situation.fingerprint).inserted else { return false }
    found.append((situation, from, step))
    return true
  }

  private func way(to index: Int) -> [Step] {
    var way: [Step] = []
    var index = index
    while index >= 0, let step = found[index].by {
      way.append(step)
      index = found[index].from
    }
    return way.reversed()
  }
}

@Suite struct SessionExplorationTests {
  @Test(arguments: Universe.all)
  func invariantsHoldInEverySituation(universe: Universe) {
    let exploration = Exploration(universe)
    #expect(exploration.violation == nil)
    #expect(exploration.situations > 1000, "the world is too small to show anything")
  }

  /// Each invariant by itself detects a daemon that breaks it.
  @Test(arguments: [
    (SessionInvariant.keysFollowTheState, Fault.stagedKeysAreLost),
    (.nothingIsOpenWhileLocked, .screenSaversEraseNothing),
    (.aLockErases, .signalsEraseNothing), (.aLockWinsOverKeysInFlight, .locksAreNotCounted),
    (.theSessionsEndWinsOverKeysInFlight, .endingsAreNotCounted),
    (.theSessionBusBringsNoKeys, .aScreenSaverThatEndsUnlocks), (.onlyAPersonLetsIn, .aScreenSaverThatCrashesUnlocks),
    (.suspendErases, .sleepErasesNothing),
    (.suspendErases, .hibernationKeepsC), (.erasingComesFirst, .somethingBeforeErasing),
    (.timersRunWhenNeeded, .timersAreForgotten), (.thePasswordUnlocks, .stagedKeysAreLost),
  ])
  func aBrokenInvariantIsFound(invariant: SessionInvariant, fault: Fault) {
    #expect(Exploration(Universe.all[0], fault: fault, invariants: [invariant]).violation != nil)
  }

  /// One of several sessions ends while the others go on.
  @Test func keysThatOutliveTheirSessionAreFound() {
    let terminals = Universe(description: "two terminals", terminals: 2)
    let invariants = [SessionInvariant.theSessionsEndWinsOverKeysInFlight]
    #expect(Exploration(terminals, fault: .sessionsAreNotTold, invariants: invariants).violation != nil)
  }
}
