/// The arguments of a program, for programs that link no parser of arguments.
public struct ProgramArguments {
  /// Why a program does not start with its arguments.
  public enum Failure: Error {
    /// The arguments are wrong: the program prints its usage, and ends with 64.
    case usage
    /// The person wants to read the usage.
    case help
    /// The process belongs to no account.
    case noAccount
  }

  private var rest: ArraySlice<String>

  /// - Parameter all: the name of the program, then its arguments.
  public init(_ all: [String]) { rest = all.dropFirst() }

  /// The next argument; nil at the end.
  public mutating func next() throws(Failure) -> String? {
    guard let argument = rest.popFirst() else { return nil }
    if argument == "--help" || argument == "-h" { throw .help }
    return argument
  }

  /// The value of the option that ``next()`` returned.
  public mutating func value() throws(Failure) -> String {
    guard let value = rest.popFirst() else { throw .usage }
    return value
  }

  /// A value that is the path of a file, from the root on.
  public mutating func path() throws(Failure) -> String {
    let value = try value()
    guard value.hasPrefix("/") else { throw .usage }
    return value
  }
}
