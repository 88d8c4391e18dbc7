"""The payments API for servers: every operation typed, retried where that is safe, and webhooks verified."""

from . import webhooks
from ._client import AsyncSvc, Svc
from ._core import OMITTED, Omitted, RequestOptions
from ._errors import (
    AuthenticationError,
    AuthorizationError,
    ConnectionError,
    FieldError,
    IdempotencyError,
    InvalidRequestError,
    ProcessingError,
    RateLimitError,
    SvcError,
    TimeoutError,
    WebhookError,
    WebhookSignatureError,
)
from ._hooks import AfterResponse, BeforeRequest, Hooks
from ._models import Model, Response, response_of, version_of
from ._paging import AsyncPage, AsyncPages, Page
from .generated import models as _models
from .generated.models import *
from .generated.operations import API_VERSION
from .generated.operations import SDK_VERSION as __version__

__all__ = [
    "API_VERSION",
    "OMITTED",
    "AfterResponse",
    "AsyncPage",
    "AsyncPages",
    "AsyncSvc",
    "AuthenticationError",
    "AuthorizationError",
    "BeforeRequest",
    "ConnectionError",
    "FieldError",
    "Hooks",
    "IdempotencyError",
    "InvalidRequestError",
    "Model",
    "Omitted",
    "Page",
    "ProcessingError",
    "RateLimitError",
    "RequestOptions",
    "Response",
    "Svc",
    "SvcError",
    "TimeoutError",
    "WebhookError",
    "WebhookSignatureError",
    "__version__",
    "response_of",
    "version_of",
    "webhooks",
]
__all__ += _models.__all__  # pyright: ignore[reportUnsupportedDunderAll]
