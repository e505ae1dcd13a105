// Prompters: the ways to ask a person.
//
// A ``Prompter`` asks one question and returns the answer. There are four: GNOME's dialog (``SystemPrompter``), Plasma's
// (``PlasmaPrompter``), pinentry (``Pinentry``), and the terminal of the program that caused the question (``TerminalPrompter``).
// ``PrompterChoice`` takes the first one that works in the place where the person looks.
//
//     let prompter = PrompterChoice(desktop: desktop, terminal: terminal, windowID: "", deadline: deadline)
//     let answer = prompter.ask(question)
//
// All of them take the same ``PromptText``. ``PromptWording`` makes its words from the daemon's request, and ``PromptConversation``
// turns each question of a PAM stack into a ``PromptText``. `latchkey-prompt` puts these parts together. `latchkey-ssh-agent` uses
// them for signatures.
//
// The module promises that a typed text is in locked memory as soon as it leaves the prompter. GNOME's prompter sends the text
// encrypted. Labels and names of programs are made safe to show by ``PlainText``: one line, of limited length, without control
// characters. There is one time limit for a whole prompt. If the client gives up, the prompt disappears. If a prompter is missing
// or does not answer, the next one is tried.
//
// It does not know the vault, and checks no answer. It cannot stop another program of the same user
// from drawing a window that looks the same, nor keep the desktop's own prompter from remembering what
// was typed. It never lets pinentry use a password cache, which would ask the Secret Service in turn.
