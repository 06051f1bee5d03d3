"""Serves tools with FastMCP, from a path with a slash at its end: server_fastmcp.py PORT."""

import sys

from fastmcp import Context, FastMCP

server = FastMCP("harbor-table")


@server.tool
async def tables(day: str, context: Context) -> list[str]:
    """Finds free tables, and says so meanwhile."""
    await context.info(f"Looking for {day}.")
    await context.report_progress(1, 2)
    return ["19:00", "20:30"]


@server.tool
def hours() -> str:
    """Says when it is open."""
    return "From nine to five."


server.run("http", host="127.0.0.1", port=int(sys.argv[1]), path="/mcp/", show_banner=False)
