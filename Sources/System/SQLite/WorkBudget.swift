/// The work that several connections may do together, in operations of SQLite's virtual machine.
///
/// Each statement has a bound of its own (``Database``). Work that reads damaged files with many statements needs one bound for all
/// statements together. Otherwise each statement could use up its own bound.
public final class WorkBudget {
  /// The number of operations that are left.
  public private(set) var left: Int64

  /// - Parameter bytes: the size of the files that are read. A sparse file claims any size.
  public convenience init(forFilesOf bytes: Int64) {
    // One to two seconds, and as much again for each 8 MiB.
    let (base, largest): (Int64, Int64) = (1 << 26, 1 << 27)
    self.init(operations: base + 8 * min(max(bytes, 0), largest))
  }

  init(operations: Int64) { left = operations }

  /// Uses some of the budget.
  ///
  /// - Returns: whether the budget had enough.
  func take(_ operations: Int64) -> Bool {
    guard left >= operations else { return false }
    left -= operations
    return true
  }
}
