#!/usr/bin/env python3
"""Fills two days of a throwaway SQLite database with calls: copies of real ones, at other times, of other lengths, with other numbers.

    screenshots/day.py DATABASE

Everything that a statistic reads is written as the service does when a call ends (crates/server/src/store/statistics.rs). How long callers
waited is scattered around what the real conversations measured. Copies have neither transcript nor recording nor events. The same seed gives
the same day, but for its hour.
"""

import json
import math
import random
import sqlite3
import sys
import time
import uuid
from datetime import datetime, timedelta, timezone

SECOND, HOUR = 1_000_000, 3_600_000_000
# The browser of the pictures is in Berlin; an hour more in summer does not show.
HERE = timezone(timedelta(hours=1))
# Calls in each hour of a day there: a practice that opens at eight.
BY_HOUR = [0, 0, 0, 0, 0, 1, 2, 5, 14, 18, 17, 13, 8, 10, 15, 16, 12, 8, 5, 3, 2, 1, 0, 0]
# So many as today were called the day before.
DAY_BEFORE = 0.85
# How often an agent has calls like the one to this number of the simulator, or like the inbound one.
KINDS = [
    ("Front desk", "inbound", 52),
    ("Reminders", "+12025550100", 24),
    ("Reminders", "+12025550102", 4),
    ("Reminders", "+12025550101", 3),
    ("Reminders", "+12025550104", 1),
    ("Ava", "+12025550100", 12),
    ("Ava", "+12025550108", 3),
    ("Ava", "+12025550103", 1),
]
SUMS = ("completed", "failed", "seconds", "cost_micros", "unpriced")
chance = random.Random(33)


def template(database: sqlite3.Connection, kind: str) -> dict:
    """Returns the first ended call of a kind, one that has not failed if there is one."""
    column = "direction" if kind == "inbound" else "to_number"
    sql = f"SELECT * FROM calls WHERE {column} = ? AND ended_at IS NOT NULL ORDER BY status, id LIMIT 1"
    row = database.execute(sql, (kind,)).fetchone()
    return dict(row) if row else sys.exit(f"day: no call has ended that is {kind}: screenshots/seed.ts places it")


def times(now: int) -> list[int]:
    """Returns when calls were placed, in the 24 hours before and those before these."""
    found = []
    for hours in range(48):
        start = now - (hours + 1) * HOUR
        expected = BY_HOUR[datetime.fromtimestamp(start / SECOND, HERE).hour] * (DAY_BEFORE if hours >= 24 else 1)
        count = max(0, round(chance.gauss(expected, math.sqrt(expected) / 2)))
        found += [start + chance.randrange(HOUR) for _ in range(count)]
    # A call needs the time to end.
    return sorted(at for at in found if at < now - 900 * SECOND)


def call_id(at: int) -> bytes:
    """Returns a UUIDv7."""
    random_bits = chance.getrandbits(74)
    number = (at // 1000) << 80 | 7 << 76 | (random_bits >> 62) << 64 | 2 << 62 | random_bits & (1 << 62) - 1
    return uuid.UUID(int=number).bytes


def somebody() -> str:
    """Returns a number that is reserved for fiction."""
    # Others do something else than talk on the simulator.
    last = chance.randrange(13, 99)
    return f"+4420794609{last:02}" if chance.random() < 0.15 else f"+120255501{last:02}"


def waits(latency: dict, turns: int, at: int) -> list[int]:
    """Returns how long the caller of a copy waited for each answer, in milliseconds: longer in hours with many calls."""
    busy = BY_HOUR[datetime.fromtimestamp(at / SECOND, HERE).hour] / max(BY_HOUR)
    median = (latency["response_ms"]["p50"] or 0) * (0.92 + 0.16 * busy)
    return sorted(round(median * chance.lognormvariate(0, 0.22)) for _ in range(turns)) if median else []


def percentiles(waits: list[int]) -> dict:
    def rank(percent: int) -> int:
        return waits[max(0, math.ceil(len(waits) * percent / 100) - 1)]

    return {"p50": rank(50), "p95": rank(95), "max": waits[-1], "n": len(waits)}


def copy(call: dict, agent: bytes, at: int) -> tuple[dict, list[int]]:
    """Returns a copy of a call that was placed at this time, and its waits."""
    identity = call_id(at)
    new = call | {"id": identity, "agent_id": agent, "agent_version": 1, "carrier_call_id": f"copy-{identity.hex()}"}
    new |= {"recording": None, "summary": None, "outcome": None}
    new["from_number" if call["direction"] == "inbound" else "to_number"] = somebody()
    for column in ("created_at", "due_at", "dialing_at", "ringing_at", "answered_at", "ended_at", "hangup_requested_at"):
        if call[column] is not None:
            new[column] = call[column] + at - call["created_at"]
    waited = []
    if call["turns"] > 1:
        stretch = min(4.0, chance.lognormvariate(0.1, 0.5))
        new["duration_seconds"] = max(8, round(call["duration_seconds"] * stretch))
        new["ended_at"] = new["answered_at"] + new["duration_seconds"] * SECOND + chance.randrange(SECOND)
        new["turns"] = max(2, round(call["turns"] * stretch))
        latency = json.loads(call["latency"])
        waited = waits(latency, new["turns"], at)
        if waited:
            new["latency"] = json.dumps(latency | {"response_ms": percentiles(waited)})
    return new, waited


def add(database: sqlite3.Connection, call: dict, waited: list[int]) -> None:
    """Writes a call and what it adds to the sums."""
    columns = ", ".join(call)
    database.execute(f"INSERT INTO calls ({columns}) VALUES ({', '.join('?' * len(call))})", list(call.values()))
    tenant, agent, ended_at = call["tenant_id"], call["agent_id"], call["ended_at"]
    database.execute("INSERT INTO call_search_pending (tenant_id, call_id, ended_at) VALUES (?, ?, ?)", (tenant, call["id"], ended_at))
    hour = ended_at - ended_at % HOUR
    usage = json.loads(call["usage"] or "{}")
    sums = (
        call["status"] == "completed",
        call["status"] == "failed",
        call["duration_seconds"],
        math.ceil((usage.get("cost_usd") or 0) * 1_000_000),
        bool(usage.get("unpriced")),
    )
    more = ", ".join(f"{name} = {name} + excluded.{name}" for name in SUMS)
    database.execute(
        f"INSERT INTO call_sums (tenant_id, hour, agent_id, connection_id, {', '.join(SUMS)}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) "
        f"ON CONFLICT (tenant_id, hour, agent_id, connection_id) DO UPDATE SET {more}",
        (tenant, hour, agent, call["connection_id"], *map(int, sums)),
    )
    for ms in waited:
        # As crates/core/src/histogram.rs.
        database.execute(
            "INSERT INTO response_times (tenant_id, hour, agent_id, bin, responses) VALUES (?, ?, ?, ?, 1) "
            "ON CONFLICT (tenant_id, hour, agent_id, bin) DO UPDATE SET responses = responses + 1",
            (tenant, hour, agent, min(160, math.floor(math.log2(max(1, ms)) * 8))),
        )
    if call["direction"] == "outbound":
        month = datetime.fromtimestamp(call["created_at"] / SECOND, timezone.utc).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
        database.execute(
            "INSERT INTO monthly_calls (tenant_id, month, calls) VALUES (?, ?, 1) "
            "ON CONFLICT (tenant_id, month) DO UPDATE SET calls = calls + 1",
            (tenant, int(month.timestamp()) * SECOND),
        )


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: screenshots/day.py DATABASE")
    # The service has it open, and writes now and then.
    database = sqlite3.connect(f"file:{sys.argv[1]}?mode=rw", uri=True, timeout=30, isolation_level=None)
    database.row_factory = sqlite3.Row
    database.execute("BEGIN IMMEDIATE")
    templates = {kind: template(database, kind) for _, kind, _ in KINDS}
    tenant = templates["inbound"]["tenant_id"]
    agents = {row["name"]: row["id"] for row in database.execute("SELECT id, name FROM agents WHERE tenant_id = ?", (tenant,))}
    placed = times(int(time.time() * SECOND))
    for at in placed:
        [(agent, kind, _)] = chance.choices(KINDS, [weight for _, _, weight in KINDS])
        add(database, *copy(templates[kind], agents[agent], at))
    database.execute("COMMIT")
    database.close()
    print(f"day: {len(placed)} calls in two days")


main()
