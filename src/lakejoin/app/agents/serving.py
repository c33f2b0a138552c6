"""The server: tools over standard input and output, by the Model Context Protocol."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Any

from lakejoin import __version__
from lakejoin.app.agents.short import MOST
from lakejoin.app.agents.tools import INSTRUCTIONS, TOOLS
from lakejoin.app.current import Current
from lakejoin.app.printing import clip
from lakejoin.errors import InputError, LakejoinError, MissingPart

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.types import (
        CallToolRequestParams,
        CallToolResult,
        ListToolsResult,
        PaginatedRequestParams,
    )

_AT_ONCE = 2  # calls that run; joins may take much memory


def answer(current: Current, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """What a tool says, and whether that is an error, which is one sentence."""
    try:
        tool = next((one for one in TOOLS if one.name == name), None)
        if tool is None:
            raise InputError(f"there is no tool {name!r}: {', '.join(one.name for one in TOOLS)}")
        tool.check(arguments)
        return tool.run(current.lake(), **arguments), False
    except LakejoinError as problem:
        return clip(problem, MOST), True
    except OSError as problem:
        return f"{problem.filename or name}: {problem.strerror or problem}", True
    except Exception as problem:  # noqa: BLE001 (one bad call never ends the server)
        traceback.print_exc(file=sys.stderr)  # an agent keeps it in its log
        what = f"{type(problem).__name__}: {problem}".splitlines()[0]
        return f"this should not happen: {what}", True


def serve(index: str | None) -> None:
    """Serves the lake until standard input ends."""
    try:
        import anyio
        from mcp.server.stdio import stdio_server
    except ImportError:
        raise MissingPart("serving agents needs: pip install 'lakejoin[mcp]'") from None

    server = server_of(Current(index))

    async def run() -> None:
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())

    anyio.run(run)


def server_of(current: Current) -> Server[Any]:
    """A server of all tools over a lake."""
    import anyio
    from mcp import types
    from mcp.server.lowlevel import Server

    running = anyio.CapacityLimiter(_AT_ONCE)
    listed = [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.schema,
            annotations=types.ToolAnnotations(
                read_only_hint=not tool.writes, destructive_hint=False, open_world_hint=False
            ),
        )
        for tool in TOOLS
    ]

    async def list_tools(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        return types.ListToolsResult(tools=listed)

    async def call_tool(_: Any, asked: CallToolRequestParams) -> CallToolResult:
        given = asked.arguments or {}
        said, failed = await anyio.to_thread.run_sync(
            answer, current, asked.name, given, limiter=running
        )
        text = types.TextContent(type="text", text=said)
        return types.CallToolResult(content=[text], is_error=failed)

    return Server(
        "lakejoin",
        version=__version__,
        title="lakejoin",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
