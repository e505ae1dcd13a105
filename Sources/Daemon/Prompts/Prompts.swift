// Prompts: the daemon's queue of questions to the person.
//
// Clients wait for an unlock, a passphrase or a presence. Often several wait for the same.
// ``PromptQueue`` puts equal questions together, so that one window answers all of them, and shows one
// at a time. ``Question`` names what is asked, ``PromptSubject`` how the person sees it, and
// ``PromptTicket`` one client's place in the queue. ``Caller`` is the program that caused a question.
//
// The queue starts no program and opens no vault. The queue's owner does both as the
// ``PromptQueueDelegate``. `latchkey-prompt` then connects, takes the prompt by its number, and
// tells how it ended. The daemon's VaultPrompts is that owner.
//
// The module promises that an answer counts only for the subject that was shown, and for the clients that waited for it. Nobody
// is asked while a screen locker is up. A question that needs no answer any more is withdrawn before a person sees it, or in the
// middle. ``WrongAnswers`` counts wrong passphrases for each collection and item over all clients, and then makes a pause. If a
// client leaves, it gives up its place in the queue.
//
// It does not ask. Prompters, on the floor Prompt, has the ways to ask. It does not check an answer: PAM or
// the key does. The name of a program is a hint for the person and no proof, since a program of the same
// user can run as any other. ``ProcessFolder`` only makes sure that the hint is about the process that
// called.
