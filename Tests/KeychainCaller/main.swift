import Foundation

// Calls the SecItem functions as a person's program does, for tests in other languages. Each line of standard input is a call in
// JSON, and each line of standard output is an answer.

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
