"""How a route gets the services of its server."""

from __future__ import annotations

from typing import Annotated, cast

from fastapi import Depends, Request

from lakejoin.server.services import Services


def get_services(request: Request) -> Services:
    """The services of the server that received the request."""
    return cast(Services, request.app.state.services)


ServicesDependency = Annotated[Services, Depends(get_services)]
