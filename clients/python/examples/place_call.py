"""Places a call, prints what happens as it happens, and waits for its end.

    python examples/place_call.py AGENT_ID +12025550100

SWITCHHOOK_API_KEY holds the key; SWITCHHOOK_URL the address, if it is not http://127.0.0.1:8080.
"""

import sys

from switchhook import APIError, Switchhook


def main(agent_id: str, to: str) -> int:
    with Switchhook() as client:
        try:
            call = client.calls.create(agent_id=agent_id, to=to)
        except APIError as error:
            print(f"The call was not placed: {error.message}", file=sys.stderr)
            return 1
        for event in client.calls.stream_events(call.id):
            print(event.event)
        call = client.calls.wait(call.id)
        print(f"{call.status} after {call.duration_seconds} s: {call.error or call.summary}")
        for line in client.calls.transcript(call.id).data:
            print(f"{line.role:>6}: {line.text}")
        return 0 if call.status == "completed" else 2


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))
