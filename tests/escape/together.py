"""One row of many acts of one kind: a call more that is refused is no attack more. It is won when
any of them is, and its control is that of each. What this machine cannot show of them the row's
result names; where it can show none, there is no control."""
import frame


def together(name, attack, kind, wall, names, **more):
    """Makes one row of those rows, which are gone then."""
    parts = [frame.ROWS.pop(one) for one in names]
    unshown = {one.name: why for one in parts if (why := one.needs() if one.needs else "")}
    able = [one for one in parts if one.name not in unshown]

    def attempt(host):
        tried = []
        for one in parts:
            got = one.attempt(host)
            if got.won:
                return frame.Outcome(True, f"{one.name}: {got.told}")
            if one in able:
                tried.append(got.told)
        return frame.Outcome(False, " ".join(dict.fromkeys(tried)))

    def control(host):
        for one in able:
            try:
                one.control(host)
            except frame.Defect as defect:
                raise frame.Defect(f"{one.name}: {defect}") from None

    known = tuple(dict.fromkeys(known for one in parts for known in one.known))
    frame.add(
        frame.Row(
            name,
            attack,
            kind,
            parts[0].by,
            wall,
            attempt,
            control,
            proof=parts[0].proof,
            means=parts[0].means,
            known=known,
            short=any(one.short for one in parts),
            needs=None if able else lambda: "; ".join(dict.fromkeys(unshown.values())),
            unshown=unshown,
            body=" ".join(sorted(one.body for one in parts)),
            **more,
        )
    )
