"""Hooks of schemathesis: requests name objects that exist."""

import json
import os
import random
import uuid

import schemathesis

# Asked for once: objects in many states, by the names that requests call them by.
KNOWN = json.loads(os.environ.get("SVC_FUZZ_KNOWN", "{}"))


def known(name: str):
    name = name.removeprefix("replacement_")
    values = KNOWN.get(name.removesuffix("s"))
    return random.choice(values) if values and random.random() < 0.7 else None


def singular(path: str, parameter: str) -> str:
    before = path.split("{" + parameter + "}")[0].rstrip("/").split("/")[-1]
    return before.removesuffix("s") + "_id"


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    path = context.operation.path if context.operation else ""
    for parameter in path_parameters or {}:
        value = known(singular(path, parameter))
        if value is not None:
            path_parameters[parameter] = value
    return path_parameters


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Without sparse fields: with them an answer lacks what its schema requires. Our own generator has them."""
    for operations in raw_schema["paths"].values():
        for operation in operations.values():
            parameters = operation["parameters"]
            operation["parameters"] = [one for one in parameters if not one.get("name", "").startswith("fields[")]


@schemathesis.hook
def map_headers(context, headers):
    # A key that was used before would answer for the request.
    if headers and "X-SVC-Idempotency-Key" in headers and random.random() < 0.8:
        headers["X-SVC-Idempotency-Key"] = str(uuid.uuid4())
    return headers


@schemathesis.hook
def map_body(context, body):
    if isinstance(body, dict):
        for name, value in body.items():
            if name.endswith(("_id", "coupon_code", "card_token")) and isinstance(value, str):
                body[name] = known(name) or value
            elif name.endswith("_ids") and isinstance(value, list):
                body[name] = [known(name) or one for one in value]
            elif name == "items" and isinstance(value, list):
                for item in value:
                    if isinstance(item, dict) and "product_id" in item:
                        item["product_id"] = known("product_id") or item["product_id"]
            elif name == "card" and isinstance(value, dict) and random.random() < 0.7:
                value.update(number="4242424242424242", exp_month="12", exp_year="2036", cvc="999")
    return body
