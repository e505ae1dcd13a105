// SessionState: which keys may be in memory now.
//
// ``SessionMachine`` is the rule: a value without input or output. Events go in (``SessionEvent``), and
// effects come out in the order in which they have to be carried out (``SessionEffect``). Effects that
// erase keys come first. It has three states: sealed, unlocked and locked.
//
//     var machine = SessionMachine(uid: uid)
//     for effect in machine.handle(event) { carryOut(effect) }
//
// ``SessionWatch`` feeds the machine. It listens to logind over the system bus (``LogindWatch``) and to screen savers over the
// session bus (``ScreenSaverWatch``), and holds up sleep until the keys are erased. ``AuthenticationPolicy`` decides which login
// may bring keys, and ``Claim`` is the record of a login from its password until its keys arrive.
//
// The module promises that "locked" is believed from any source. "Unlocked" opens nothing by itself: it
// only lets keys go live that a password brought before. Keys of a password that was typed before a
// lock do not lift that lock. The last session's end seals the vault. A bus or a logind that goes away
// is waited for, and unlocks nothing meanwhile.
//
// It does not hold keys. The owner of the watch holds them, and must carry out effects without waiting. It does not lock
// screens. It cannot notice a locker that tells neither logind nor the bus: `latchkey doctor` looks for such lockers.
// docs/developer/session-state.md has the rules, and Tests/SessionStateTests explores every order of events up to a
// length.
