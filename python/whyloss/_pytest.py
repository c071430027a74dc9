"""The pytest fixture `whyloss_link`, which the package's entry point registers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ._link import Link, link


@pytest.fixture
def whyloss_link(tmp_path: Path) -> Iterator[Callable[..., Link]]:
    """Make links that last until the test ends.

    `net = whyloss_link(rate="10mbit", loss=0.02)` takes the arguments of `whyloss.link`.
    Logs are in the test's `tmp_path`, in `link-1`, `link-2` and so on.
    """
    with ExitStack() as stack:
        count = 0

        def make(*args: Any, **options: Any) -> Link:  # noqa: ANN401
            nonlocal count
            count += 1
            options.setdefault("log", tmp_path / f"link-{count}")
            return stack.enter_context(link(*args, **options))

        yield make
