"""Connections: whoever opens one has to finish the headers of a request soon."""

from __future__ import annotations

from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10
"""In which the headers of a request have to arrive; uvicorn would wait without end."""


class PromptProtocol(H11Protocol):
    """HTTP/1.1; slow headers do not hold a connection, of which there is a limited number."""

    _deadline: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Somebody opened a connection."""
        super().connection_made(transport)
        self._watch_headers()

    def data_received(self, data: bytes) -> None:
        """Some bytes came; they do not move the deadline, the end of the headers does."""
        super().data_received(data)
        self._watch_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed."""
        self._forget_deadline()
        super().connection_lost(exc)

    def _watch_headers(self) -> None:
        is_answered = getattr(self.cycle, "response_complete", True)  # before a request, no cycle
        if not is_answered or self.timeout_keep_alive_task is not None:
            self._forget_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEADER_SECONDS, self.transport.close)

    def _forget_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
