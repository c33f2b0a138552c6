"""Serve the tools over standard input and output with the Model Context Protocol."""

from __future__ import annotations

import sys
import traceback
from typing import TYPE_CHECKING, Any

from lakejoin import __version__
from lakejoin.mcp.short_text import ANSWER_LENGTH
from lakejoin.mcp.tool_server import INSTRUCTIONS, TOOLS
from lakejoin.current import CurrentLake
from lakejoin.text_format import clip
from lakejoin.errors import InputError, LakejoinError, MissingDependency

if TYPE_CHECKING:
    from mcp.server.lowlevel import Server
    from mcp.types import (
        CallToolRequestParams,
        CallToolResult,
        ListToolsResult,
        PaginatedRequestParams,
    )

_CONCURRENT_CALLS = 2  # joins may need much memory


def run_tool(current: CurrentLake, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """The answer of a tool, and whether it is an error (then one sentence)."""
    try:
        tool = next((tool for tool in TOOLS if tool.name == name), None)
        if tool is None:
            known = ", ".join(tool.name for tool in TOOLS)
            raise InputError(f"there is no tool {name!r}; the tools are {known}")
        tool.check(arguments)
        return tool.run(current.lake(), **arguments), False
    except LakejoinError as problem:
        return clip(problem, ANSWER_LENGTH), True
    except OSError as problem:
        return f"{problem.filename or name}: {problem.strerror or problem}", True
    except Exception as problem:  # noqa: BLE001 (one failed call must not stop the server)
        traceback.print_exc(file=sys.stderr)  # agents log standard error
        what = f"{type(problem).__name__}: {problem}".splitlines()[0]
        return f"internal error: {what}", True


def serve_agents(index: str | None) -> None:
    """Serve the lake until standard input ends."""
    try:
        import anyio
        from mcp.server.stdio import stdio_server
    except ImportError:
        raise MissingDependency("lakejoin mcp needs more packages: pip install 'lakejoin[mcp]'") from None

    server = make_server(CurrentLake(index))

    async def run() -> None:
        async with stdio_server() as (received, sent):
            await server.run(received, sent, server.create_initialization_options())

    anyio.run(run)


def make_server(current: CurrentLake) -> Server[Any]:
    """A server with all tools."""
    import anyio
    from mcp import types
    from mcp.server.lowlevel import Server

    limiter = anyio.CapacityLimiter(_CONCURRENT_CALLS)
    tools = [
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
        return types.ListToolsResult(tools=tools)

    async def call_tool(_: Any, request: CallToolRequestParams) -> CallToolResult:
        text, failed = await anyio.to_thread.run_sync(
            run_tool, current, request.name, request.arguments or {}, limiter=limiter
        )
        content = types.TextContent(type="text", text=text)
        return types.CallToolResult(content=[content], is_error=failed)

    return Server(
        "lakejoin",
        version=__version__,
        title="lakejoin",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
