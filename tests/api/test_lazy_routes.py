"""Routes that are built at their first request."""

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.testclient import TestClient

from api.app import create_app
from api.http.responses import Envelope, RequestModel, ResponseModel
from api.http.routing import LazyRoute, Router, serve
from core.settings import Settings


class Wish(RequestModel):
    count: int = 1


class Thing(ResponseModel):
    name: str
    count: int


@pytest.fixture
def router() -> Router:
    router = Router(prefix="/things", tags=["things"])

    @router.put("/{name}", status_code=201)
    async def keep(name: str, wish: Wish) -> Envelope[Thing]:
        """Keep one."""
        return Envelope(data=Thing(name=name, count=wish.count))

    return router


def test_a_route_knows_its_place_before_it_is_worked_out(router: Router):
    (route,) = router.routes
    assert isinstance(route, LazyRoute)
    assert (route.path_format, route.methods, route.name) == ("/things/{name}", {"PUT"}, "keep")
    assert "dependant" not in vars(route)
    assert (route.status_code, route.description, route.unique_id) == (201, "Keep one.", "keep")
    assert "dependant" in vars(route)
    with pytest.raises(AttributeError):
        _ = route.nothing_of_the_kind  # pyright: ignore[reportAttributeAccessIssue]


def test_a_late_route_answers_as_any_other(router: Router):
    app = FastAPI()
    serve(app, [router])
    with TestClient(app) as client:
        for count in (2, 3):
            answer = client.put("/things/a", json={"count": count})
            assert answer.status_code == 201
            assert answer.json()["data"] == {"name": "a", "count": count}
        assert client.put("/things/a", json={"count": "2"}).status_code == 422
        assert client.put("/things/a", json={"other": 2}).status_code == 422
        assert client.get("/things/a").status_code == 405
        assert client.put("/things", json={}).status_code == 404


def test_every_route_of_ours_is_late(tmp_path_factory: pytest.TempPathFactory):
    app = create_app(Settings(_env_file=None, data_dir=tmp_path_factory.mktemp("app")))
    routes = [route for route in app.routes if isinstance(route, APIRoute)]
    assert len(routes) > 200
    # A page, which has no router.
    early = {route.path for route in routes if not isinstance(route, LazyRoute)}
    assert early == {"/docs"}
