import Glibc

/// The start of a program: its arguments are read, it runs, and its end is an exit status. The log names a failed start.
public enum ProgramStart {
  /// - Parameters:
  ///   - name: the name of the program, for the log.
  ///   - usage: printed on request, or if the arguments are wrong.
  ///   - serve: reads the arguments and runs.
  public static func run(_ name: String, usage: String, _ serve: () throws -> Int32) -> Never {
    do { exit(try serve()) } catch ProgramArguments.Failure.help {
      print(usage)
      exit(0)
    } catch ProgramArguments.Failure.usage {
      print(usage)
      exit(64)
    } catch ProgramArguments.Failure.noAccount {
      Journal.log(.error, "\(name) cannot start: this process belongs to no account")
      exit(1)
    } catch {
      Journal.log(.error, "\(name) cannot start: \(error)")
      exit(1)
    }
  }
}
