import CLatchkeyLinux
import LatchkeySodium

/// libc's `mmap`, for all libraries that this program loads. It is the plain system call, except for Argon2id's memory. This memory
/// is locked if the limit allows it, and never in a core dump.
///
/// Linked libraries find this function by its exported name. libc's own calls do not.
@_cdecl("mmap")
public func mapMemory(
  _ address: UnsafeMutableRawPointer?, _ size: Int, _ protection: Int32, _ flags: Int32, _ file: Int32, _ offset: Int
) -> UnsafeMutableRawPointer? {
  guard WorkingMemory.isExpected(size: size) else { return linux_map(address, size, protection, flags, file, offset) }
  // A mapping that is locked from the start needs no second walk through its pages.
  var mapping = linux_map(address, size, protection, flags | linux_map_locked, file, offset)
  if mapping == failed { mapping = linux_map(address, size, protection, flags, file, offset) }
  guard let mapping, mapping != failed else { return failed }
  madvise(mapping, size, linux_not_in_dumps)
  WorkingMemory.isMapped(at: mapping, size: size)
  return mapping
}

/// libc's `munmap`, replaced in the same way: Argon2id's memory is erased first.
@_cdecl("munmap")
public func unmapMemory(_ address: UnsafeMutableRawPointer?, _ size: Int) -> Int32 {
  WorkingMemory.willUnmap(address)
  return linux_unmap(address, size)
}

/// MAP_FAILED.
private var failed: UnsafeMutableRawPointer? { UnsafeMutableRawPointer(bitPattern: -1) }
