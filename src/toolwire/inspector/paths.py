"""The inspector's paths. Its code is loaded only when somebody looks, but its paths are known."""

PATH = "/inspector"
"""The page."""
_API = f"{PATH}/api"
INFO, SAMPLES, PARSE, CASE = f"{_API}/info", f"{_API}/samples", f"{_API}/parse", f"{_API}/case"
POLLED = f"{_API}/turns"
"""The path that the page polls. It is not logged."""
TURN, REPLAY = f"{_API}/turn", f"{_API}/replay"
TRIALS = {mode: f"{_API}/try/{mode}" for mode in ("native", "hybrid", "prompted", "auto")}
"""Requests with a chosen strategy."""
METHODS = {
    **dict.fromkeys((INFO, SAMPLES, POLLED, TURN), "GET"),
    **dict.fromkeys((PARSE, CASE, REPLAY, *TRIALS.values()), "POST"),
}
"""What the page asks for, and how."""
