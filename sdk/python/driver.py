"""The driver of the Python SDK for the scenarios in sdk/scenarios: one command per line, one answer per line. ``driver.py async``
does the same with the asynchronous client."""

from __future__ import annotations

import asyncio
import base64
import inspect
import io
import json
import logging
import re
import sys
from datetime import date, datetime, timezone
from typing import Any, Dict

import svc_payments
from svc_payments import AsyncSvc, Hooks, Model, Svc, SvcError, response_of, version_of, webhooks

log = io.StringIO()
logging.basicConfig(stream=log, level=logging.DEBUG)
asynchronous = sys.argv[1:] == ["async"]
clients: Dict[str, Any] = {}
loop = asyncio.new_event_loop()


def done(value: Any) -> Any:
    async def wait() -> Any:
        return await value

    return loop.run_until_complete(wait()) if inspect.isawaitable(value) else value


def snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda match: "_" + match.group().lower(), name)


def options_of(options: Dict[str, Any] | None) -> Dict[str, Any]:
    """Times are milliseconds in the scenarios and seconds in Python."""
    found = {}
    for name, value in (options or {}).items():
        found[name.removesuffix("_ms")] = value / 1000 if name.endswith("_ms") else value
    return found


def plain(value: Any) -> Any:
    """Reads every field as a user does, so that each one is converted."""
    if isinstance(value, Model):
        return {name: plain(getattr(value, name) if name in type(value)._fields else value[name]) for name in value}
    if hasattr(value, "cursors"):
        return {"data": plain(value.data)}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return value.isoformat() if isinstance(value, date) else value


def type_at(value: Any, path: str) -> str:
    for name in path.split("."):
        value = getattr(value, name)
    if isinstance(value, datetime):
        return "time" if value.tzinfo else "time without zone"
    names = {int: "integer", str: "text", date: "date"}
    return names.get(type(value), type(value).__name__)


def method_of(command: Dict[str, Any]) -> Any:
    found = clients[command.get("client", "main")]
    for name in command["method"].split("."):
        found = getattr(found, snake(name))
    return found


def called(command: Dict[str, Any]) -> Any:
    parameters = list(command.get("ids", []))
    if "file" in command:
        parameters.append(base64.b64decode(command["file"]))
    named = {**command.get("body", {}), **command.get("query", {})}
    if "options" in command:
        named["options"] = options_of(command["options"])
    return method_of(command)(*parameters, **named)


def create_client(command: Dict[str, Any]) -> None:
    hooks = Hooks(before_request=lambda one: log.write(repr(one)), after_response=lambda one: log.write(repr(one)))
    kind = AsyncSvc if asynchronous else Svc
    options = options_of(command.get("options"))
    clients[command.get("name", "main")] = kind(command["key"], base_url=command["base_url"], hooks=hooks, **options)


def list_all(command: Dict[str, Any]) -> Any:
    ids = []

    async def collect() -> None:
        async for one in called(command):
            ids.append(one.id)
            if len(ids) == command.get("take"):
                break

    if asynchronous:
        loop.run_until_complete(collect())
    else:
        for one in called(command):
            ids.append(one.id)
            if len(ids) == command.get("take"):
                break
    return {"ids": ids, "count": len(set(ids))}


def raw(command: Dict[str, Any]) -> Any:
    client = clients[command.get("client", "main")]
    found = {name: command[name] for name in ("body", "query") if name in command}
    return done(client.request(command["http_method"], command["path"], **found, options=options_of(command.get("options"))))


def verify(command: Dict[str, Any]) -> Any:
    tolerance = {"tolerance": command["tolerance_s"]} if "tolerance_s" in command else {}
    event = webhooks.verify(command["body"].encode(), command["headers"], command["secret"], now=command["now_s"], **tolerance)
    known = not isinstance(event, svc_payments.UnknownEvent)
    assert known == (event.type == "order.succeeded")
    return event


def sign(command: Dict[str, Any]) -> Any:
    delivery = webhooks.sign_test_event(command["event"], command["secret"], timestamp=command["timestamp_s"])
    return {"body": delivery.body, "headers": delivery.headers}


def show(command: Dict[str, Any]) -> None:
    client = clients[command.get("client", "main")]
    log.write(repr(client) + repr(vars(client)) + repr(client._settings))


actions = {
    "client": create_client,
    "call": lambda command: done(called(command)),
    "list": list_all,
    "raw": raw,
    "verify": verify,
    "sign": sign,
    "show": show,
}


def error_of(error: Exception) -> Dict[str, Any]:
    log.write(repr(error) + str(error))
    if not isinstance(error, SvcError):
        return {"class": "UsageError" if isinstance(error, (TypeError, ValueError)) else repr(error), "message": str(error)}
    facts = {name: getattr(error, name) for name in ("code", "type", "message", "param", "status", "request_id")}
    return {
        "class": type(error).__name__,
        **facts,
        "idempotency_key": error.idempotency_key,
        "field_errors": [vars(one) for one in error.field_errors],
        "retry_after_s": error.retry_after,
    }


def answer_to(command: Dict[str, Any]) -> Dict[str, Any]:
    try:
        result = actions[command["do"]](command)
        log.write(repr(result))
        answer: Dict[str, Any] = {"result": plain(result)}
        answer["types"] = {path: type_at(result, path) for path in command.get("types", {})}
        response = response_of(result)
        if response:
            answer["response"] = {
                "status": response.status,
                "request_id": response.request_id,
                "version": version_of(result),
            }
        return answer
    except Exception as error:
        return {"error": error_of(error)}


for line in sys.stdin:
    asked = json.loads(line)
    given = answer_to(asked)
    if asked["do"] == "show":
        given["shown"] = log.getvalue()
    print(json.dumps(given), flush=True)
