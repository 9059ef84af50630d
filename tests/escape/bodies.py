"""What a row tries, as a text that another row which tries the same has, too: the code of its act,
and all that this code is given."""
import hashlib
import types

OF_CONTROLS = {
    "besides",
    "good",
    "great",
    "lift",
    "needs",
    "owner",
    "right",
    "without",
}  # what only a control is given


def told(thing, seen=()):
    if thing is None or isinstance(thing, (bool, int, float, str, bytes)):
        return repr(thing)
    if id(thing) in seen:
        return "again"
    seen = (*seen, id(thing))
    if isinstance(thing, types.CodeType):
        return told(
            (
                thing.co_code,
                thing.co_names,
                [
                    one
                    for one in thing.co_consts
                    if not isinstance(one, str) or one != thing.co_consts[0]
                ],
            ),
            seen,
        )
    if isinstance(thing, types.FunctionType):
        given = {
            name: cell.cell_contents
            for name, cell in zip(thing.__code__.co_freevars, thing.__closure__ or ())
            if name not in OF_CONTROLS
        }
        return told((thing.__code__, given, thing.__defaults__), seen)
    if isinstance(thing, type):
        own = {
            name: one
            for name, one in vars(thing).items()
            if not name.startswith("__") or isinstance(one, types.FunctionType)
        }
        return (
            thing.__name__ if thing.__module__ == "builtins" else told((own, thing.__bases__), seen)
        )
    if isinstance(thing, dict):
        return (
            "{"
            + ",".join(
                sorted(f"{told(key, seen)}:{told(value, seen)}" for key, value in thing.items())
            )
            + "}"
        )
    if isinstance(thing, (set, frozenset)):
        return "{" + ",".join(sorted(told(one, seen) for one in thing)) + "}"
    if isinstance(thing, (list, tuple)):
        return "(" + ",".join(told(one, seen) for one in thing) + ")"
    if isinstance(thing, types.ModuleType):
        return thing.__name__
    return told(
        (type(thing).__name__, getattr(thing, "__func__", None), getattr(thing, "__dict__", {})),
        seen,
    )


def of(act):
    return hashlib.sha256(told(act).encode()).hexdigest()
