import LatchkeyItemProtection

extension AccessControl.Mistake {
  /// Which rule is broken.
  public var reason: Reason {
    switch self {
    case .unknownFlag: .vault(.unknownFlag)
    case .unknownName(let name): .noSuchRequirement(name)
    case .orWithAnd: .vault(.orWithAnd)
    case .bothBiometries: .vault(.bothBiometries)
    case .presenceWithOthers: .vault(.presenceWithOthers)
    case .nothingToCombine: .vault(.nothingToCombine)
    }
  }
}
