import CLatchkeySodium

/// Allocations of libsodium that small secrets share: each is cut into equal slots. The first slab of each size is kept.
/// Another one is made when all slots of its size are taken, and is unmapped when it is empty.
struct SecureSlabs: @unchecked Sendable {
  /// Slot sizes in bytes, smallest first: keys, hash states, ordinary secrets. Each has the number of slots in its first slab and
  /// in each further slab: 100,000 secrets of any of these sizes need 25,000 mappings at most.
  private static let shape: [(size: Int, count: Int, more: Int)] = [(64, 256, 256), (512, 24, 64), (4096, 6, 16)]

  private struct Slab {
    let base: UnsafeMutableRawPointer
    /// The index of the slab's size in ``shape``.
    let kind: Int
    let slots: Int
    let isKept: Bool
    var free: [UInt16]

    var slotSize: Int { SecureSlabs.shape[kind].size }
    var isEmpty: Bool { free.count == slots }

    func contains(_ pointer: UnsafeMutableRawPointer) -> Bool {
      pointer >= base && pointer < base + slotSize * slots
    }
  }

  /// All slabs, in the order of their addresses.
  private var slabs: [Slab] = []
  /// The slabs with a free slot, for each size.
  private var vacant: [[UnsafeMutableRawPointer]] = shape.map { _ in [] }

  /// A zeroed slot of at least `count` bytes; nil if no slot is that large, or if no memory is left.
  mutating func take(_ count: Int) -> UnsafeMutableRawPointer? {
    if slabs.isEmpty { for kind in Self.shape.indices { add(kind, isKept: true) } }
    guard let kind = Self.shape.firstIndex(where: { $0.size >= count }) else { return nil }
    if vacant[kind].isEmpty { add(kind, isKept: false) }
    guard let base = vacant[kind].last, let index = index(of: base), let slot = slabs[index].free.popLast() else {
      return nil
    }
    if slabs[index].free.isEmpty { vacant[kind].removeLast() }
    let size = slabs[index].slotSize
    let address = base + Int(slot) * size
    sodium_memzero(address, size)
    return address
  }

  /// Erases a slot, and frees it.
  ///
  /// - Returns: whether the pointer is one of a slot.
  mutating func giveBack(_ pointer: UnsafeMutableRawPointer) -> Bool {
    guard let index = index(of: pointer) else { return false }
    // The slab is changed in place: a copy would copy its list of free slots as well.
    let (base, kind, size) = (slabs[index].base, slabs[index].kind, slabs[index].slotSize)
    sodium_memzero(pointer, size)
    if slabs[index].free.isEmpty { vacant[kind].append(base) }
    slabs[index].free.append(UInt16((pointer - base) / size))
    if slabs[index].isEmpty, !slabs[index].isKept {
      slabs.remove(at: index)
      vacant[kind].removeAll { $0 == base }
      SecureMemory.free(base)
    }
    return true
  }

  private mutating func add(_ kind: Int, isKept: Bool) {
    let shape = Self.shape[kind]
    let slots = isKept ? shape.count : shape.more
    guard let base = SecureMemory.noted(shape.size * slots) else { return }
    let slab = Slab(base: base, kind: kind, slots: slots, isKept: isKept, free: (0..<UInt16(slots)).reversed())
    slabs.insert(slab, at: place(of: base))
    vacant[kind].append(base)
  }

  /// The number of slabs that begin at or below an address.
  private func place(of pointer: UnsafeMutableRawPointer) -> Int {
    var (low, high) = (0, slabs.count)
    while low < high {
      let middle = (low + high) / 2
      if slabs[middle].base <= pointer { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The slab that contains an address.
  private func index(of pointer: UnsafeMutableRawPointer) -> Int? {
    let index = place(of: pointer) - 1
    return index >= 0 && slabs[index].contains(pointer) ? index : nil
  }
}
