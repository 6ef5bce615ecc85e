"""docs/serving.md: what its program exports is served, and its requests get the replies that stand there."""

import doctest
import pathlib
import re

from tfcompat._src.serving import server_config
from tfcompat._src.serving.manager import Loading, Manager
from tfcompat._src.serving.rest import RestApi
from tfcompat._src.serving.servable import Servable
from tfcompat._src.serving.server import Settings

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "serving.md"
REQUEST = re.compile(r"^curl (?:-d '(.*)' )?http://localhost:8501(\S+)\n((?:[{} ].*\n)+)", re.MULTILINE)


def test_requests_of_the_page():
    text = PAGE.read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    held = {}
    exec(compile(program, "program of the page", "exec"), held)
    manager = Manager(Loading(lambda name, version, path: Servable(name, version, path, ["serve"]), poll_seconds=0, retries=0))
    manager.start(server_config.of_one_model("line", held["folder"] + "/line"))
    api = RestApi(manager, 30)
    found = REQUEST.findall(text)
    assert len(found) == 4
    for body, path, wanted in found:
        reply = api.answer("POST" if body else "GET", path, body.encode()).body.decode()
        assert doctest.OutputChecker().check_output(wanted, reply + "\n", doctest.ELLIPSIS), reply
    manager.stop()


def test_flags_of_the_page_are_there():
    named = set(re.findall(r"--([a-z_]+)", PAGE.read_text())) - {"help"}
    assert named and named <= set(Settings._fields)
