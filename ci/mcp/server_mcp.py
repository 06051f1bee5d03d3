"""Serves tools with the Python SDK: server_mcp.py PORT."""

import asyncio
import sys

from mcp.server import MCPServer
from pydantic import BaseModel

server = MCPServer("harbor-table")


class Table(BaseModel):
    day: str
    people: int


@server.tool()
def book(table: Table) -> Table:
    """Books a table."""
    return table


@server.tool()
async def slow(seconds: float) -> str:
    """Takes a while."""
    await asyncio.sleep(seconds)
    return "Done."


@server.tool()
def fail() -> str:
    """Does not work."""
    raise ValueError("The book is lost.")


server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
