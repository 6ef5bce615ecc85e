"""Interfaces for the servers of tests."""

import threading

from tfcompat._src.proto import messages
from tfcompat._src.serving.rest import Reply


class Slow:
    """An interface whose replies wait until `go_on` is set; `begun` counts the requests."""

    def __init__(self):
        self.begun, self.go_on = threading.Semaphore(0), threading.Event()

    def answer(self, method, path, body):
        self.begun.release()
        self.go_on.wait()
        return Reply(200, "application/json", b"{}")

    def Check(self, request, seconds):
        self.answer("", "", b"")
        return messages.grpc.health.v1.HealthCheckResponse()
