"""When `calls.wait` gives up."""

from __future__ import annotations

from time import monotonic

from ._errors import WaitTimeoutError

#: Timers may fire a little early, and a read a little late.
TOLERANCE = 0.01
#: How far a read may go past the end; a stream is opened anew at most this often.
OVERRUN = 0.5


class Deadline:
    def __init__(self, seconds: float | None = None, message: str = "") -> None:
        self._end: float | None = None if seconds is None else monotonic() + seconds
        self._message = message

    def check(self) -> None:
        """Raises WaitTimeoutError when the time is over."""
        if self._end is not None and monotonic() >= self._end - TOLERANCE:
            raise WaitTimeoutError(self._message)

    def limit(self, seconds: float) -> float:
        """These seconds, or what is left."""
        return seconds if self._end is None else min(seconds, max(TOLERANCE, self._end - monotonic()))

    def allows(self, seconds: float) -> bool:
        """Whether a read that takes this long ends in time."""
        return self._end is None or monotonic() + seconds <= self._end + OVERRUN


#: For what has no end of its own.
NEVER = Deadline()
