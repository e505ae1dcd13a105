import LatchkeyControl
import LatchkeyKeybag
import LatchkeySystemd

/// Tells clients how their prompts ended.
final class PromptCompletion {
  private let bus: Bus
  private let tree: CollectionTree
  private let locks: LockStates
  private let announcer: StateAnnouncer

  init(_ bus: Bus, tree: CollectionTree, locks: LockStates, announcer: StateAnnouncer) {
    self.tree = tree
    self.bus = bus
    self.locks = locks
    self.announcer = announcer
  }

  /// Emits `Completed`.
  ///
  /// - Parameter dismissed: whether the person or a lock ended the prompt.
  func tell(_ prompt: Prompt, dismissed: Bool) {
    // The result has its type even after a dismissal, because clients read it anyway.
    switch prompt.purpose {
    case .unlock(let wanted):
      // Objects that were unlocked in another way count as well.
      let open = wanted.filter { (try? locks.state(of: $0, for: prompt.owner)) == .unlocked }
      announcer.tell(open, to: prompt.owner)
      let dismissed = open.isEmpty || (dismissed && open.count < wanted.count)
      emit(prompt, isDone: !dismissed, "ao") { $0.appendObjectPaths(dismissed ? [] : open) }
    case .password(let id):
      emit(prompt, isDone: prompt.hasChangedPassword(of: id), "s") { $0.appendString("") }
    case .store(let item): emit(prompt, object: item.stored.map { tree.path(of: $0) })
    case .change(let change): emit(prompt, object: change.isDone ? tree.path(of: change.item) : nil)
    case .create(let collection): emit(prompt, object: collection.made.map { tree.path(of: $0) })
    }
  }

  /// - Parameter path: the object that was made or changed; nil without such an object.
  private func emit(_ prompt: Prompt, object path: String?) {
    emit(prompt, isDone: path != nil, "o") { $0.appendObjectPath(path ?? ObjectPath.none) }
  }

  /// - Parameter isDone: whether the client's request was done.
  private func emit(
    _ prompt: Prompt, isDone: Bool, _ type: String, _ result: (inout MessageWriter) -> Void
  ) {
    if prompt.tellsOutcome {
      let outcome = isDone ? .accepted : outcome(of: prompt)
      try? bus.emitSignal(
        path: prompt.path, interface: ToldPromptObject.name, member: "Ended", to: prompt.owner
      ) { $0.appendString(outcome.rawValue) }
    }
    try? bus.emitSignal(
      path: prompt.path, interface: PromptObject.name, member: "Completed", to: prompt.owner
    ) { out in
      out.appendBool(!isDone)
      out.appendVariant(type, result)
    }
  }

  private func outcome(of prompt: Prompt) -> PromptOutcome {
    if prompt.item?.failure?.name == BusError.duplicateName { return .duplicate }
    return switch prompt.lastEnd {
    case .refused: prompt.isPaused ? .paused : .refused
    case .dismissed: .dismissed
    // No question is left, or the answers were not enough.
    case nil, .granted: locks.lacksRoom ? .full : .unavailable
    case .unavailable, .broken: .unavailable
    case .expired: .expired
    case .outdated, .withdrawn, .locked: .withdrawn
    case .fingers: .fingers
    }
  }
}
