/// Decides which generations are removed.
///
/// A clock that is wrong for a while must not cost all generations. So kept generations are counted in hours, days and weeks
/// that have a generation, not in hours before now. Age alone removes few at a time.
struct HistoryThinning {
  let policy: HistoryPolicy
  /// The present time, in seconds since 1970.
  let now: UInt64
  /// The size of the database in bytes.
  let databaseSize: Int

  private static let (hour, day, week): (UInt64, UInt64, UInt64) = (3600, 24 * 3600, 7 * 24 * 3600)

  /// The generations to remove, of all existing generations.
  ///
  /// - Parameter expiring: the number of generations that may be removed for their age alone.
  func removals(of generations: [PastGeneration], expiring: Int) -> [PastGeneration] {
    guard policy.isOn else { return generations }
    let newestFirst = generations.sorted { $0.number > $1.number }
    guard let newest = newestFirst.first else { return [] }
    var kept: Set<UInt32> = [newest.number]
    for (length, count) in [(Self.hour, policy.hourly), (Self.day, policy.daily), (Self.week, policy.weekly)] {
      var seen: Set<UInt64> = []
      for one in newestFirst where seen.count < count && seen.insert(one.time / length).inserted {
        kept.insert(one.number)
      }
    }
    let old = newestFirst.reversed().filter { kept.contains($0.number) && $0 != newest && isOld($0) }
    kept.subtract(old.prefix(expiring).map(\.number))
    let limit = policy.size ?? HistoryPolicy.defaultSize(of: databaseSize)
    var total = 0
    for one in newestFirst where kept.contains(one.number) {
      // Foreign files may say any size.
      total = total.addingReportingOverflow(one.size).overflow ? .max : total + one.size
      if total > limit, one != newest { kept.remove(one.number) }
    }
    return newestFirst.filter { !kept.contains($0.number) }
  }

  /// A generation from the future is not old: the clock was wrong then or is wrong now.
  private func isOld(_ generation: PastGeneration) -> Bool {
    now > generation.time && now - generation.time > UInt64(max(policy.days, 0)) * Self.day
  }
}
