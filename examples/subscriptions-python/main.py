"""A website that sells subscriptions: it lists the plans, sends customers to the checkout page, and learns from webhooks who has subscribed."""

import os
from html import escape

from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from svc_payments import AsyncSvc, InvalidRequestError, SubscriptionEvent, WebhookSignatureError, webhooks

svc = AsyncSvc(os.environ["SVC_KEY"], base_url=os.environ["SVC_URL"])
app = FastAPI(title="Subscriptions")

# Amounts are in the smallest unit of the currency. Add the other currencies of your plans that have no cents.
DECIMALS = {"jpy": 0, "krw": 0, "kwd": 3}

# Keep both in your database. A delivery can arrive more than once, and out of order.
handled: set[str] = set()
subscriptions: dict[str, str] = {}


@app.get("/", response_class=HTMLResponse)
async def plans() -> str:
    rows = []
    async for plan in svc.plans.list(active=True):
        decimals = DECIMALS.get(plan.currency, 2)
        price = f"{plan.amount / 10**decimals:.{decimals}f} {plan.currency.upper()}"
        button = f'<form method="post" action="/plans/{plan.id}/subscribe"><button>Subscribe</button></form>'
        rows.append(f"<li>{escape(plan.name)}: {price} {button}</li>")
    return f"<!doctype html><title>Plans</title><h1>Plans</h1><ul>{''.join(rows)}</ul>"


@app.post("/plans/{plan_id}/subscribe")
async def subscribe(plan_id: str, request: Request) -> RedirectResponse:
    try:
        plan = await svc.plans.get(plan_id)
    except InvalidRequestError:
        raise HTTPException(404, "There is no such plan.") from None
    # The page asks for the customer and the card. No card number reaches this program.
    session = await svc.checkout_sessions.create(
        mode="subscription", plan_id=plan.id, success_url=f"{request.base_url}thanks"
    )
    return RedirectResponse(session.url, status_code=303)


@app.get("/thanks", response_class=HTMLResponse)
async def thanks() -> str:
    return "<!doctype html><title>Thank you</title><h1>Thank you</h1>"


@app.post("/webhooks")
async def receive(request: Request) -> dict[str, bool]:
    try:
        event = webhooks.verify(await request.body(), request.headers, os.environ["SVC_WEBHOOK_SECRET"])
    except WebhookSignatureError as error:
        raise HTTPException(400, str(error)) from None
    if event.id not in handled:
        handled.add(event.id)
        if isinstance(event, SubscriptionEvent):
            subscription = event.data.object
            # The event can be older than what is known, so the service is asked.
            subscriptions[subscription.id] = (await svc.subscriptions.get(subscription.id)).status
    return {"received": True}


@app.get("/subscriptions")
async def known() -> dict[str, str]:
    return subscriptions
