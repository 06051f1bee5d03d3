"""Prints the events of all calls as they happen, with asyncio. Stop it with Ctrl+C.

python examples/follow.py
"""

import asyncio

from switchhook import AsyncSwitchhook


async def main() -> None:
    async with AsyncSwitchhook() as client:
        async for event in client.events.stream():
            print(f"{event.created_at:%H:%M:%S}  {event.call_id}  {event.event}", flush=True)


if __name__ == "__main__":
    asyncio.run(main())
