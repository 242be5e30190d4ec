"""The Prometheus endpoint."""

from typing import cast

from fastapi import Depends, Request
from fastapi.responses import Response

from api.dependencies import CurrentContext, requires
from api.http.routing import Router
from api.metrics import CONTENT_TYPE, PATH, Metrics
from core.auth.permissions import Permission
from core.errors.base import AgentexError

router = Router(tags=["health"], dependencies=[Depends(requires(Permission.SYSTEM_MANAGE))])


@router.get(PATH, response_class=Response, responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}})
async def read_metrics(request: Request, context: CurrentContext) -> Response:
    """Metrics in the text format of Prometheus, for administrators or with the scrape token."""
    metrics = cast(Metrics, request.app.state.metrics)
    try:
        figures = await context.stats.now()
    except AgentexError:
        # Requests and the process can be told all the same.
        figures = None
    return Response(metrics.render(figures), media_type=CONTENT_TYPE)
