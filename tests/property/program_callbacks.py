"""Statements that call what nobody knows, or make it: what happens there, no model sees."""

from tests.property.program_writer import Writer


def tick(w: Writer) -> bool:
    """A callback is called that touches a buffer which it is not given."""
    if not w.reach.ticks:
        return False
    w.line(f"{w.draft.pick(w.reach.ticks)}()")
    return True


def make_tick(w: Writer) -> bool:
    views = {text: view for text, view in w.views().items() if view.kind != "bits"}
    if not views or len(w.reach.ticks) > 2:
        return False
    name, text = w.draft.name("tick"), w.draft.pick([*views])
    if w.draft.chance(2):
        w.line(f"{name} = {w.draft.pick(['make_tick', 'make_wipe'])}({text})")
    else:
        w.line(f"def {name}():")
        w.line(f"    look(np.sum({text}))")
        w.line(w.draft.pick(["    pass", f"    nudge({text})"]))
    w.reach.ticks.append(name)
    return True


def hold(w: Writer) -> bool:
    """Something is kept where nobody sees it, and touched later."""
    views = {text: view for text, view in w.views().items() if view.kind != "bits"}
    if not views or w.draft.chance(2):
        return stir(w)
    w.line(f"keep({w.draft.pick([*views])})")
    return True


def stir(w: Writer) -> bool:
    """Whatever was kept somewhere is touched."""
    w.line("stir()")
    return True
