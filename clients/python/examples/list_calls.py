"""Prints the calls of the last day that failed, and why.

python examples/list_calls.py
"""

from datetime import datetime, timedelta, timezone

from switchhook import Switchhook

with Switchhook() as client:
    since = datetime.now(timezone.utc) - timedelta(days=1)
    for call in client.calls.list(status="failed", created_after=since, limit=100):
        print(f"{call.created_at:%H:%M:%S}  {call.to}  {call.error_code}  {call.error}")
