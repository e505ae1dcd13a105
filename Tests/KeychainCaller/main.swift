import Foundation

// Calls the SecItem functions as a program of a person's does: for tests in other languages. A line of standard input is a
// call in JSON, and the answer is a line of standard output.

let caller = Caller()
while let line = readLine() {
  var answer: [String: Any]
  do {
    guard let call = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
      throw Mistake("no object")
    }
    answer = try caller.answer(call)
  } catch { answer = ["mistake": "\(error)"] }
  try FileHandle.standardOutput.write(contentsOf: JSONSerialization.data(withJSONObject: answer) + Data("\n".utf8))
}
